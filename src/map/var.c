/* The mmapable array behind `var`. */
#include "map/var.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void)
{
    long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (size_t)size : 4096;
}

static size_t mapped_size(const struct map *map)
{
    return ((size_t)map->value_size + page_size() - 1) / page_size() * page_size();
}

void *map_var_open(const struct map *map)
{
    if (map->type != BPF_MAP_TYPE_ARRAY) {
        errno = EINVAL;
        return NULL;
    }
    void *value = mmap(NULL, mapped_size(map), PROT_READ | PROT_WRITE, MAP_SHARED, map->fd, 0);
    return value == MAP_FAILED ? NULL : value;
}

/* Calls OPERATION(unsigned type of SIZE bytes). */
#define BY_SIZE(size, operation)                                                                                       \
    switch (size) {                                                                                                    \
    case 1:                                                                                                            \
        operation(uint8_t);                                                                                            \
        break;                                                                                                         \
    case 2:                                                                                                            \
        operation(uint16_t);                                                                                           \
        break;                                                                                                         \
    case 4:                                                                                                            \
        operation(uint32_t);                                                                                           \
        break;                                                                                                         \
    default:                                                                                                           \
        operation(uint64_t);                                                                                           \
    }

uint64_t map_var_get(const void *word, unsigned size)
{
    uint64_t value = 0;
#define GET(type) value = __atomic_load_n((const type *)word, __ATOMIC_ACQUIRE)
    BY_SIZE(size, GET)
    return value;
}

void map_var_set(void *word, uint64_t value, unsigned size)
{
#define SET(type) __atomic_store_n((type *)word, (type)value, __ATOMIC_RELEASE)
    BY_SIZE(size, SET)
}

void map_var_add(void *word, uint64_t value, unsigned size)
{
#define ADD(type) __atomic_fetch_add((type *)word, (type)value, __ATOMIC_ACQ_REL)
    BY_SIZE(size, ADD)
}
