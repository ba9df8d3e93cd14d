/* Blocks that pass after pass has found lost. */
#include "scan/suspects.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

static bool is_lost(const struct graph *graph, size_t i)
{
    return graph->reach[i] == REACH_DIRECT || graph->reach[i] == REACH_INDIRECT;
}

int suspects_begin(struct suspects *suspects, const struct graph *graph, uint64_t born)
{
    size_t capacity = 0;
    suspects_free(suspects);
    for (size_t i = 0; i < graph->blocks->count; i++) {
        const struct scan_block *block = &graph->blocks->items[i];
        if (!is_lost(graph, i) || block->at >= born)
            continue;
        if (!array_room(&suspects->items, suspects->count, &capacity, sizeof *suspects->items))
            return -ENOMEM;
        suspects->items[suspects->count++] = (struct suspect){block->address, block->at};
    }
    return 0;
}

/* Leaves those that are among BLOCKS, and lost in GRAPH if there is one. */
static void keep(struct suspects *suspects, const struct blocks *blocks, const struct graph *graph)
{
    size_t kept = 0;
    for (size_t n = 0; n < suspects->count; n++) {
        struct suspect suspect = suspects->items[n];
        uint32_t i = blocks_before(blocks, suspect.address);
        if (i == NO_BLOCK || blocks->starts[i] != suspect.address || blocks->items[i].at != suspect.at)
            continue;
        if (!graph || is_lost(graph, i))
            suspects->items[kept++] = suspect;
    }
    suspects->count = kept;
}

void suspects_keep(struct suspects *suspects, const struct graph *graph)
{
    keep(suspects, graph->blocks, graph);
}

void suspects_confirm(struct suspects *suspects, const struct blocks *blocks)
{
    keep(suspects, blocks, NULL);
}

bool suspects_has(const struct suspects *suspects, const struct scan_block *block)
{
    size_t before = array_up_to(suspects->items, suspects->count, sizeof *suspects->items, block->address);
    const struct suspect *last = before ? &suspects->items[before - 1] : NULL;
    return last && last->address == block->address && last->at == block->at;
}

void suspects_free(struct suspects *suspects)
{
    free(suspects->items);
    *suspects = (struct suspects){0};
}
