/* The words of an mmapable array: what the script side of `var` reads and writes without a system call, atomically. */
#ifndef UPLUA_MAP_VAR_H
#define UPLUA_MAP_VAR_H

#include <stdint.h>

#include "map/map.h"

/* The first word of MAP (an array with BPF_F_MMAPABLE and 8-byte values). NULL with errno set on failure. */
int64_t *map_var_open(const struct map *map);
void map_var_close(int64_t *word);

/* Reads and replaces the whole word at once. */
int64_t map_var_get(const int64_t *word);
void map_var_set(int64_t *word, int64_t value);
/* Adds, wrapping; returns what was there before. */
int64_t map_var_add(int64_t *word, int64_t value);

#endif
