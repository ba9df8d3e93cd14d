/*
 * The chunks of glibc's heap, found from outside by their own headers (malloc/malloc.c and arena.c of glibc 2.30
 * to 2.41 on 64-bit machines): of the first arena, which is the heap that brk makes, of the others, and chunks that are
 * mapped by themselves. Which of them are given away, and which only look so since a thread's cache or a fast bin keeps
 * them. The process has to be stopped. What is read may be damaged, and is never believed: sizes and links lead to
 * where chunks are known to be, or are told as damage.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "scan/blocks.h"
#include "sys/process_memory.h"

struct glibc_heap {
    uint64_t arenas, mapped, caches; /* arenas, chunks that are mapped by themselves, caches of threads */
    uint64_t chunks[7], bytes[7];    /* by enum chunk_kind */
    uint64_t damaged;                /* where a heap cannot be followed any further; 0: nowhere */
    uint64_t damages;                /* how many such places there are */
};

/* Whether REGION may be a heap of glibc, or a part of one. */
bool glibc_heap_may_be(const struct region *region);

/*
 * Finds the chunks, in place of the blocks that BLOCKS has: those that are free, too. 0; -ENOENT: there is no heap of
 * glibc; -ENOTSUP: it is one that is not known well enough; -ENOMEM, -errno, with ERR; -ETIMEDOUT, without: it is
 * later than MEMORY's until.
 */
int glibc_heap_read(struct process_memory *memory, const struct region *regions, size_t count, struct blocks *blocks,
                    struct glibc_heap *heap, struct error *err);
