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

int64_t *map_var_open(const struct map *map)
{
    if (map->type != BPF_MAP_TYPE_ARRAY || map->value_size != sizeof(int64_t)) {
        errno = EINVAL;
        return NULL;
    }
    void *words = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, map->fd, 0);
    return words == MAP_FAILED ? NULL : words;
}

void map_var_close(int64_t *word)
{
    if (word)
        munmap(word, page_size());
}

int64_t map_var_get(const int64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

void map_var_set(int64_t *word, int64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

int64_t map_var_add(int64_t *word, int64_t value)
{
    return __atomic_fetch_add(word, value, __ATOMIC_ACQ_REL);
}
