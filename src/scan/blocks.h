/* The blocks that a process holds, by address: what a pointer leads to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map;

/* One block, as Lua sees it too. */
struct scan_block {
    uint64_t address, bytes;
    uint64_t at;    /* when it was allocated, ns */
    uint64_t stack; /* where: a number of stacks; 0 without */
};

/* Where a map of blocks has what: offsets in its keys and values, -1: it has no such thing. */
struct scan_layout {
    int address, space;   /* in the key */
    int bytes, at, stack; /* in the value */
    uint64_t wanted;      /* the space whose blocks are meant, where there are several */
    uint64_t since;       /* ns: what was allocated before went with another program */
};

enum chunk_kind {
    CHUNK_USED = 1, /* given away */
    CHUNK_FREE,     /* free, and known as such by the next one's header */
    CHUNK_FAST,     /* in a fast bin */
    CHUNK_CACHED,   /* in a thread's cache */
    CHUNK_TOP,      /* the rest of a heap: free, too */
    CHUNK_ARENA,    /* no chunk, but where an arena has its lists of those that are free */
    CHUNK_KINDS
};

/* An allocator's chunk as a block: its number of stacks tells kind and size. */
#define CHUNK_STACK(kind, size) ((uint64_t)(size) << 3 | (kind))
#define CHUNK_KIND(stack) ((enum chunk_kind)((stack)&7))
#define CHUNK_SIZE(stack) ((stack) >> 3)

struct blocks {
    struct scan_block *items; /* by ascending address */
    uint64_t *starts;         /* their addresses once more: what is searched */
    size_t count, capacity;
    bool chunks; /* of an allocator, by its headers (scan/glibc_heap.h): what is in others than USED is nothing */
};

/* NO_BLOCK and above are no numbers of blocks. */
#define NO_BLOCK UINT32_MAX

/*
 * Reads the blocks of MAP that LAYOUT wants and that were allocated up to LAST, in place of those that BLOCKS has. 0,
 * -ENOMEM, -E2BIG: there are more than can be numbered, -ETIMEDOUT: that was not done by DEADLINE (0: none), -errno.
 * Times are in ns, CLOCK_MONOTONIC.
 */
int blocks_load(struct blocks *blocks, const struct map *map, const struct scan_layout *layout, uint64_t last,
                uint64_t deadline);
/* Makes ITEMS, which are in no order, blocks by address. 0 or -ENOMEM. */
int blocks_index(struct blocks *blocks);
void blocks_free(struct blocks *blocks);

/* The number of the last block that begins at ADDRESS or below, or NO_BLOCK. */
uint32_t blocks_before(const struct blocks *blocks, uint64_t address);
/* Where what is in block I ends: where the next one begins, if that is earlier. */
uint64_t blocks_end(const struct blocks *blocks, uint32_t i);
