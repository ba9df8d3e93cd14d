/*
 * Blocks that pass after pass has found lost. What is lost stays so; a block of which a pass of a running process
 * missed the pointer, since it was moved just then, is found held by one of the others. A block is known by its address
 * and the time of its allocation: what was freed and given away again is another one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/graph.h"

struct suspect {
    uint64_t address, at;
};

struct suspects {
    struct suspect *items; /* by ascending address */
    size_t count;
};

/* Makes SUSPECTS those that GRAPH has found lost and that were allocated before BORN. 0 or -ENOMEM. */
int suspects_begin(struct suspects *suspects, const struct graph *graph, uint64_t born);
/* Leaves those of SUSPECTS that GRAPH has found lost, too. */
void suspects_keep(struct suspects *suspects, const struct graph *graph);
/* Leaves those of SUSPECTS that are among BLOCKS. */
void suspects_confirm(struct suspects *suspects, const struct blocks *blocks);
/* True if BLOCK is among them. */
bool suspects_has(const struct suspects *suspects, const struct scan_block *block);
void suspects_free(struct suspects *suspects);
