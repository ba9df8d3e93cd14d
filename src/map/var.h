/* An mmapable array of one: what the script side of `var` reads and writes without a system call, atomically. */
#pragma once

#include <stdint.h>

#include "map/map.h"

/* The value of MAP, an array of one with BPF_F_MMAPABLE, mapped for good. NULL with errno set on failure. */
void *map_var_open(const struct map *map);

/* Reads and replaces SIZE bytes (1, 2, 4 or 8) at WORD at once; what is read has zeros above them. */
uint64_t map_var_get(const void *word, unsigned size);
void map_var_set(void *word, uint64_t value, unsigned size);
/* Adds, wrapping. */
void map_var_add(void *word, uint64_t value, unsigned size);
