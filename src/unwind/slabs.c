/* Room for unwind tables in the kernel's maps. */
#include "unwind/slabs.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SMALLEST = 1 << 12 }; /* chunks: tables that come later share slabs of 256 KiB */

/* The last slab will not be written to any more. */
static void unmap_last(struct slabs *slabs)
{
    if (slabs->count)
        munmap(slabs->items[slabs->count - 1].chunks,
               slabs->items[slabs->count - 1].count * sizeof(struct unwind_chunk));
}

void slabs_free(struct slabs *slabs)
{
    unmap_last(slabs);
    for (size_t i = 0; i < slabs->count; i++)
        close(slabs->items[i].fd);
    slabs->count = 0;
}

int slabs_reserve(struct slabs *slabs, size_t count)
{
    if (slabs->count && slabs->items[slabs->count - 1].count - slabs->items[slabs->count - 1].used >= count)
        return 0;
    if (slabs->count == UNWIND_SLABS)
        return -ENOSPC;
    size_t page = (size_t)sysconf(_SC_PAGESIZE) / sizeof(struct unwind_chunk);
    count = count < SMALLEST ? SMALLEST : (count + page - 1) / page * page;
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
    int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_slab", sizeof(uint32_t), sizeof(struct unwind_chunk),
                            (uint32_t)count, &options);
    if (fd < 0)
        return fd;
    void *chunks = mmap(NULL, count * sizeof(struct unwind_chunk), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint32_t number = (uint32_t)slabs->count;
    int rc = chunks == MAP_FAILED ? -errno : bpf_map_update_elem(slabs->map, &number, &fd, BPF_ANY);
    if (rc) {
        if (chunks != MAP_FAILED)
            munmap(chunks, count * sizeof(struct unwind_chunk));
        close(fd);
        return rc;
    }
    unmap_last(slabs);
    slabs->items[number].fd = fd;
    slabs->items[number].chunks = chunks;
    slabs->items[number].count = count;
    slabs->items[number].used = 0;
    slabs->count++;
    return 0;
}

struct unwind_chunk *slabs_room(const struct slabs *slabs)
{
    return slabs->items[slabs->count - 1].chunks + slabs->items[slabs->count - 1].used;
}

uint32_t slabs_take(struct slabs *slabs, size_t count, uint32_t *first)
{
    uint32_t number = (uint32_t)slabs->count - 1;
    *first = (uint32_t)slabs->items[number].used;
    slabs->items[number].used += count;
    return number;
}
