/* The result of a scan by the stacks that have allocated the blocks, and who holds these. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "scan/graph.h"
#include "scan/suspects.h"

struct scan_sum {
    uint64_t bytes, blocks;
};

/* The blocks of one stack. */
struct scan_group {
    uint64_t stack;
    struct scan_sum direct;   /* lost themselves */
    struct scan_sum indirect; /* of whichever stack, that hang below those */
    struct scan_sum lost;     /* of this stack: themselves, or below others of whichever stack */
    struct scan_sum held, young, unknown;
    uint64_t oldest, newest; /* of DIRECT, ns */
};

/* Blocks of one stack that one root holds. */
struct scan_holder {
    uint64_t stack, root;
    struct scan_sum held;
    uint32_t example; /* one of them, a number of blocks */
    uint32_t padding;
};

struct groups {
    struct scan_group *items;    /* one for each stack, by ascending stack */
    struct scan_holder *holders; /* by ascending stack, in each the most bytes first */
    size_t count, holder_count;
};

/* Adds up what GRAPH has found, lost being those among SUSPECTS; blocks that were allocated at BORN or later are young.
 * 0 or -ENOMEM. */
int groups_make(struct groups *groups, struct graph *graph, const struct suspects *suspects, uint64_t born);
void groups_free(struct groups *groups);
