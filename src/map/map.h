/* Kernel maps as the script side reads and writes them, by file descriptor; sizes are the map's own (per-CPU values
 * excepted). Called through LuaJIT's FFI. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One map, opened by the number the kernel gave. */
struct map {
    int fd; /* borrowed */
    uint32_t type, key_size, value_size, max_entries;
    uint32_t cpus;         /* copies of each value that a lookup returns: 1, or the possible CPUs for per-CPU maps */
    uint32_t value_stride; /* bytes from one copy to the next (value_size rounded up to 8 for per-CPU maps) */
};

/* Fills MAP from FD's bpf_map_info. 0 or -errno. */
int map_open(struct map *map, int fd);

/* VALUE receives cpus × value_stride bytes. 0, -ENOENT, -errno. */
int map_lookup(const struct map *map, const void *key, void *value);
/* Replaces or inserts (all CPUs' copies for per-CPU maps: VALUE as in map_lookup). 0, -E2BIG if the map is full,
 * -errno. */
int map_update(const struct map *map, const void *key, const void *value);
/* 0, -ENOENT, -errno. */
int map_delete(const struct map *map, const void *key);
/* Looks up and deletes in one step, where the map can (hashes, Linux 5.14). 0, -ENOENT, -errno. */
int map_take(const struct map *map, const void *key, void *value);

/* All entries at one time: COUNT keys of key_size bytes and COUNT values of cpus × value_stride bytes. */
struct map_entries {
    uint64_t count;
    uint8_t *keys, *values;
    size_t key_bytes, value_bytes; /* mapped */
};
/*
 * Reads the whole map in batches (BPF_MAP_LOOKUP_BATCH; a bucket larger than the batch grows it; an array
 * without batch operations, as per-CPU arrays are on old kernels, is read by index). TAKE also removes what it returns
 * (lookup-and-delete batch; hashes only): an entry added meanwhile is either returned or still there. 0 or -errno; on
 * failure nothing is held, otherwise the caller frees with map_entries_free.
 */
int map_read_all(const struct map *map, bool take, struct map_entries *entries);
void map_entries_free(struct map_entries *entries);

/*
 * Reads the map in the same way, but keeps nothing: calls VISIT(CONTEXT, KEYS, VALUES, COUNT) with so many entries at a
 * time, until that returns other than 0. 0, what VISIT returned, or -errno.
 */
int map_visit(const struct map *map,
              int (*visit)(void *context, const uint8_t *keys, const uint8_t *values, size_t count), void *context);
