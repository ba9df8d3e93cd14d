/*
 * Maps by batches. A hash table is read bucket by bucket: the kernel's cursor is a bucket number and a bucket is handed
 * over whole or not at all, so a walk sees no entry twice and misses none that is there throughout. The room for
 * entries starts small and doubles: `max` says what a map may hold, not what it holds.
 */
#include "map/map.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_BATCH 4096    /* entries; a bucket of a table that is not attacked holds fewer than ten */
#define ENOTSUPP_KERNEL 524 /* include/linux/errno.h: what the kernel returns for a map without batch operations */

int map_open(struct map *map, int fd)
{
    struct bpf_map_info info = {0};
    uint32_t length = sizeof info;
    int err = bpf_obj_get_info_by_fd(fd, &info, &length);
    if (err)
        return err;
    *map = (struct map){
        .fd = fd,
        .type = info.type,
        .key_size = info.key_size,
        .value_size = info.value_size,
        .max_entries = info.max_entries,
        .cpus = 1,
        .value_stride = info.value_size,
    };
    switch (info.type) {
    case BPF_MAP_TYPE_PERCPU_HASH:
    case BPF_MAP_TYPE_LRU_PERCPU_HASH:
    case BPF_MAP_TYPE_PERCPU_ARRAY: {
        int cpus = libbpf_num_possible_cpus();
        if (cpus < 0)
            return cpus;
        map->cpus = (uint32_t)cpus;
        map->value_stride = (info.value_size + 7) & ~7u;
        break;
    }
    default:
        break;
    }
    return 0;
}

int map_lookup(const struct map *map, const void *key, void *value)
{
    return bpf_map_lookup_elem(map->fd, key, value);
}

int map_update(const struct map *map, const void *key, const void *value)
{
    return bpf_map_update_elem(map->fd, key, value, BPF_ANY);
}

int map_delete(const struct map *map, const void *key)
{
    return bpf_map_delete_elem(map->fd, key);
}

int map_take(const struct map *map, const void *key, void *value)
{
    return bpf_map_lookup_and_delete_elem(map->fd, key, value);
}

static bool is_array(const struct map *map)
{
    return map->type == BPF_MAP_TYPE_ARRAY || map->type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static size_t bytes_per_value(const struct map *map)
{
    return (size_t)map->cpus * map->value_stride;
}

/*
 * Makes *BUFFER of *BYTES larger. By mapping, not by malloc: growing moves pages instead of copying a million entries,
 * and what a report needed goes back to the system after it.
 */
static int enlarge(uint8_t **buffer, size_t *bytes, size_t wanted)
{
    void *grown = *buffer ? mremap(*buffer, *bytes, wanted, MREMAP_MAYMOVE)
                          : mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (grown == MAP_FAILED)
        return -ENOMEM;
    *buffer = grown;
    *bytes = wanted;
    return 0;
}

/* Makes room for WANTED entries; what is there stays. */
static int grow(const struct map *map, struct map_entries *entries, uint64_t *capacity, uint64_t wanted)
{
    size_t keys, values;
    if (__builtin_mul_overflow(wanted, map->key_size, &keys) ||
        __builtin_mul_overflow(wanted, bytes_per_value(map), &values))
        return -ENOMEM;
    int err = enlarge(&entries->keys, &entries->key_bytes, keys);
    if (!err)
        err = enlarge(&entries->values, &entries->value_bytes, values);
    if (!err)
        *capacity = wanted;
    return err;
}

/* An array's keys are its indices: no batch operation is needed, only slower without (per-CPU arrays before 5.13). */
static int read_array(const struct map *map, struct map_entries *entries)
{
    uint64_t capacity = 0;
    int err = grow(map, entries, &capacity, map->max_entries);
    if (err)
        return err;
    for (uint32_t i = 0; i < map->max_entries; i++) {
        memcpy(entries->keys + (size_t)i * map->key_size, &i, sizeof i);
        err = map_lookup(map, &i, entries->values + i * bytes_per_value(map));
        if (err)
            return err;
        entries->count++;
    }
    return 0;
}

static int read_batches(const struct map *map, bool take, struct map_entries *entries)
{
    uint64_t capacity = 0;
    uint64_t wanted = map->max_entries < FIRST_BATCH ? map->max_entries : FIRST_BATCH;
    int err = grow(map, entries, &capacity, wanted);
    if (err)
        return err;

    /* The cursor: a bucket number for hashes, a key (of four bytes) for arrays. */
    uint32_t cursor[2] = {0};
    bool started = false;
    for (;;) {
        uint64_t room = capacity - entries->count;
        uint32_t count = room > UINT32_MAX ? UINT32_MAX : (uint32_t)room;
        void *keys = entries->keys + entries->count * map->key_size;
        void *values = entries->values + entries->count * bytes_per_value(map);
        void *from = started ? &cursor[0] : NULL;
        uint32_t next[2] = {cursor[0], cursor[1]};
        err = take ? bpf_map_lookup_and_delete_batch(map->fd, from, next, keys, values, &count, NULL)
                   : bpf_map_lookup_batch(map->fd, from, next, keys, values, &count, NULL);
        if (err == -EINTR || err == -EAGAIN)
            continue;
        if (err && err != -ENOENT && err != -ENOSPC)
            return err;
        if (err != -ENOSPC) {
            entries->count += count;
            memcpy(cursor, next, sizeof cursor);
            started = true;
        }
        if (err == -ENOENT)
            return 0; /* the end; what came with it counts */
        /* Less than a quarter free: double, so that the number of calls stays small; -ENOSPC: a bucket did not fit. */
        if (err == -ENOSPC || capacity - entries->count < capacity / 4 + 1) {
            err = grow(map, entries, &capacity, capacity * 2);
            if (err)
                return err;
        }
    }
}

int map_read_all(const struct map *map, bool take, struct map_entries *entries)
{
    *entries = (struct map_entries){0};
    if (take && is_array(map))
        return -EOPNOTSUPP; /* an array's entries cannot be removed */
    int err = read_batches(map, take, entries);
    if (is_array(map) && (err == -ENOTSUPP_KERNEL || err == -EINVAL || err == -EOPNOTSUPP)) {
        map_entries_free(entries);
        err = read_array(map, entries);
    }
    if (err)
        map_entries_free(entries);
    return err;
}

void map_entries_free(struct map_entries *entries)
{
    if (entries->keys)
        munmap(entries->keys, entries->key_bytes);
    if (entries->values)
        munmap(entries->values, entries->value_bytes);
    *entries = (struct map_entries){0};
}

int map_visit(const struct map *map,
              int (*visit)(void *context, const uint8_t *keys, const uint8_t *values, size_t count), void *context)
{
    struct map_entries batch = {0};
    uint64_t capacity = 0;
    uint32_t cursor[2], next[2];
    bool started = false;
    int err = grow(map, &batch, &capacity, FIRST_BATCH);
    while (!err) {
        uint32_t count = (uint32_t)capacity;
        int read = bpf_map_lookup_batch(map->fd, started ? cursor : NULL, next, batch.keys, batch.values, &count, NULL);
        if (read == -EINTR || read == -EAGAIN)
            continue;
        if (read == -ENOSPC) { /* a bucket did not fit */
            err = grow(map, &batch, &capacity, capacity * 2);
            continue;
        }
        err = read && read != -ENOENT ? read : visit(context, batch.keys, batch.values, count);
        if (read == -ENOENT)
            break;
        memcpy(cursor, next, sizeof cursor);
        started = true;
    }
    map_entries_free(&batch);
    return err;
}
