/*
 * Room for unwind tables in the kernel: arrays of chunks, that an array of maps holds. The last one is mapped here for
 * writing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../bpf/unwind.h"

struct slabs {
    int map; /* the array of maps, borrowed */
    struct {
        int fd;
        struct unwind_chunk *chunks; /* of the last slab */
        size_t count, used;
    } items[UNWIND_SLABS];
    size_t count;
};

void slabs_free(struct slabs *slabs);

/*
 * Makes sure that tables of COUNT chunks in all find room in one slab. 0 or -errno: -ENOSPC with too many slabs. A new
 * slab takes 5 to 15 ms, in which the kernel waits for programs that use what it replaces (maybe_wait_bpf_programs).
 */
int slabs_reserve(struct slabs *slabs, size_t count);

/* Where the next chunks go, for as many as have been reserved. */
struct unwind_chunk *slabs_room(const struct slabs *slabs);

/* COUNT chunks were put there: the slab's number, and in *FIRST the index of the first chunk. */
uint32_t slabs_take(struct slabs *slabs, size_t count, uint32_t *first);
