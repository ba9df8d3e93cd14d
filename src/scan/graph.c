/* Reachability of blocks. */
#include "scan/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_EDGES = 16 << 20, /* 64 MB; what blocks beyond lead to is read again when they are found to be held */
};

/* --- memory --- */

/* Makes an array of COUNT elements of SIZE bytes, zeroed, in place of *ARRAY. */
static bool renew(void *array, size_t count, size_t size)
{
    void **place = array;
    free(*place);
    *place = calloc(count + 1, size);
    return *place;
}

int graph_begin(struct graph *graph, const struct blocks *blocks, const struct blocks *free)
{
    size_t n = blocks->count;
    graph->blocks = blocks;
    graph->free = free;
    graph->edge_count = graph->queued = 0;
    graph->cut = graph->marking = false;
    if (!renew(&graph->roots, n, 8) || !renew(&graph->ranks, n, 1) || !renew(&graph->reach, n, 1) ||
        !renew(&graph->from, n, 4) || !renew(&graph->first, n, 4) || !renew(&graph->counts, n, 4) ||
        !renew(&graph->queue, n, 4))
        return -ENOMEM;
    memset(graph->from, 0xff, n * sizeof *graph->from);
    graph->low = n ? blocks->starts[0] : 1;
    graph->span = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t end = blocks->items[i].address + blocks->items[i].bytes;
        graph->span = end - graph->low > graph->span ? end - graph->low : graph->span;
    }
    return 0;
}

void graph_free(struct graph *graph)
{
    free(graph->roots);
    free(graph->ranks);
    free(graph->reach);
    free(graph->from);
    free(graph->first);
    free(graph->counts);
    free(graph->edges);
    free(graph->queue);
    *graph = (struct graph){0};
}

/* --- words --- */

/* The blocks to which WORD leads, at most two: one may end where the other begins. How many these are. */
static int targets(const struct graph *graph, uint64_t word, uint32_t found[static 2])
{
    uint64_t address = word & ADDRESS_BITS;
    int count = 0;
    if (address - graph->low > graph->span)
        return 0;
    uint32_t i = blocks_before(graph->blocks, address);
    for (int tries = 0; tries < 2 && i != NO_BLOCK; tries++, i--) {
        const struct scan_block *block = &graph->blocks->items[i];
        if (address - block->address <= block->bytes)
            found[count++] = i;
        if (!i)
            break;
    }
    return count;
}

void graph_add_root(struct graph *graph, uint64_t word, uint64_t root, enum rank rank)
{
    uint32_t found[2];
    for (int n = targets(graph, word, found); n--;) {
        uint32_t i = found[n];
        if (graph->ranks[i] < rank) {
            graph->ranks[i] = rank;
            graph->roots[i] = root;
        }
    }
}

static bool room_for_edge(struct graph *graph)
{
    if (graph->edge_count < graph->edge_capacity)
        return true;
    size_t wanted = graph->edge_capacity ? graph->edge_capacity * 2 : 1 << 16;
    uint32_t *edges = wanted > MAX_EDGES ? NULL : realloc(graph->edges, wanted * sizeof *edges);
    if (!edges)
        return false;
    graph->edges = edges;
    graph->edge_capacity = wanted;
    return true;
}

static void hold(struct graph *graph, uint32_t i, uint32_t from)
{
    if (graph->reach[i] == REACH_HELD)
        return;
    graph->reach[i] = REACH_HELD;
    graph->from[i] = from;
    if (from != NO_BLOCK)
        graph->roots[i] = graph->roots[from];
    graph->queue[graph->queued++] = i;
}

/* Block FROM leads to block TO. */
static void add_edge(struct graph *graph, uint32_t from, uint32_t to)
{
    uint32_t *count = &graph->counts[from];
    if (graph->marking) {
        hold(graph, to, from);
    } else if (*count != EDGES_CUT) {
        if (!*count)
            graph->first[from] = (uint32_t)graph->edge_count;
        else if (graph->edges[graph->first[from] + *count - 1] == to)
            return;
        if (room_for_edge(graph)) {
            graph->edges[graph->edge_count++] = to;
            ++*count;
        } else {
            *count = EDGES_CUT;
            graph->cut = true;
        }
    }
}

static bool is_free(const struct graph *graph, uint64_t address)
{
    uint32_t i = blocks_before(graph->free, address);
    return i != NO_BLOCK && address < blocks_end(graph->free, i);
}

/* WORD, at ADDRESS in block I, or NO_BLOCK. */
static void add_word(struct graph *graph, uint64_t word, uint64_t address, uint32_t i, enum rank rank)
{
    uint32_t found[2];
    if (i == NO_BLOCK) {
        if (!graph->marking && !is_free(graph, address))
            graph_add_root(graph, word, address, rank);
        return;
    }
    if (graph->blocks->chunks && CHUNK_KIND(graph->blocks->items[i].stack) != CHUNK_USED)
        return;
    for (int n = targets(graph, word, found); n--;)
        if (found[n] != i)
            add_edge(graph, i, found[n]);
}

/* The words that begin in the bytes from AT to END of block I, or NO_BLOCK. */
static void add_bytes(struct graph *graph, const uint8_t *bytes, size_t at, size_t end, uint64_t address, uint32_t i,
                      enum rank rank)
{
    uint64_t low = graph->low, span = graph->span, word;
    for (; at < end; at += WORD_STEP) {
        memcpy(&word, bytes + at, sizeof word);
        if ((word & ADDRESS_BITS) - low <= span)
            add_word(graph, word, address + at, i, rank);
    }
}

void graph_add_memory(struct graph *graph, const uint8_t *bytes, uint64_t address, size_t size, enum rank rank)
{
    const struct blocks *blocks = graph->blocks;
    if (size < sizeof(uint64_t))
        return;
    size_t end = size - sizeof(uint64_t) + 1; /* the last word begins before this */
    uint32_t i = blocks_before(blocks, address);
    for (size_t at = 0; at < end;) {
        bool inside = i != NO_BLOCK && blocks_end(blocks, i) > address + at;
        uint32_t next = i == NO_BLOCK ? 0 : i + 1;
        uint64_t stop = inside ? blocks_end(blocks, i) : next < blocks->count ? blocks->starts[next] : UINT64_MAX;
        size_t to = stop - address < end ? (size_t)(stop - address + WORD_STEP - 1) / WORD_STEP * WORD_STEP : end;
        to = to > end ? end : to;
        if (!inside || !graph->marking || i == graph->owner)
            add_bytes(graph, bytes, at, to, address, inside ? i : NO_BLOCK, rank);
        at = to;
        while (next < blocks->count && blocks->starts[next] <= address + at)
            i = next++;
    }
}

void graph_add_words(struct graph *graph, const struct graph_word *words, size_t count)
{
    const struct blocks *blocks = graph->blocks;
    uint32_t i = NO_BLOCK, next = 0;
    uint64_t from = 0, end = 0; /* where block I is, or nothing */
    for (size_t n = 0; n < count; n++) {
        uint64_t at = words[n].at;
        if (at - from >= end - from) { /* it lies elsewhere than the one before */
            i = blocks_before(blocks, at);
            next = i == NO_BLOCK ? 0 : i + 1;
            from = i == NO_BLOCK ? 0 : blocks_end(blocks, i);
            end = next < blocks->count ? blocks->starts[next] : UINT64_MAX;
            if (i != NO_BLOCK && at < from) {
                end = from;
                from = blocks->starts[i];
            } else {
                i = NO_BLOCK;
            }
        }
        if (!graph->marking || i == graph->owner)
            add_word(graph, words[n].word, at, i, words[n].rank);
    }
}

/* --- reachability --- */

/* Holds what the blocks lead to that have been found held so far. */
static void spread(struct graph *graph, size_t at, void (*read)(void *context, uint32_t i), void *context)
{
    for (; at < graph->queued; at++) {
        uint32_t i = graph->queue[at];
        if (graph->counts[i] == EDGES_CUT) {
            graph->marking = true;
            graph->owner = i;
            read(context, i);
            graph->marking = false;
            continue;
        }
        for (uint32_t n = 0; n < graph->counts[i]; n++)
            hold(graph, graph->edges[graph->first[i] + n], i);
    }
}

/* Has all that is lost and that LEADER leads to hang below it. */
static void lead(struct graph *graph, uint32_t leader)
{
    size_t left = 0;
    graph->reach[leader] = REACH_DIRECT;
    graph->queue[left++] = leader;
    while (left) {
        uint32_t i = graph->queue[--left];
        uint32_t count = graph->counts[i] == EDGES_CUT ? 0 : graph->counts[i];
        for (uint32_t n = 0; n < count; n++) {
            uint32_t to = graph->edges[graph->first[i] + n];
            if (to == leader || graph->reach[to] == REACH_HELD || graph->reach[to] == REACH_INDIRECT)
                continue;
            if (graph->reach[to] == REACH_NONE)
                graph->queue[left++] = to;
            graph->reach[to] = REACH_INDIRECT; /* what was below it goes with it */
            graph->from[to] = leader;
        }
    }
}

void graph_finish(struct graph *graph, void (*read)(void *context, uint32_t i), void *context)
{
    uint32_t count = (uint32_t)graph->blocks->count;
    graph->queued = 0;
    for (int rank = RANK_VARIABLE; rank > RANK_NONE; rank--)
        for (uint32_t i = 0; i < count; i++)
            if (graph->ranks[i] == rank)
                hold(graph, i, NO_BLOCK);
    spread(graph, 0, read, context);
    for (uint32_t i = 0; i < count; i++)
        if (graph->reach[i] == REACH_NONE)
            lead(graph, i);
}

uint32_t graph_leader(struct graph *graph, uint32_t i)
{
    uint32_t leader = i;
    while (graph->reach[leader] == REACH_INDIRECT)
        leader = graph->from[leader];
    while (graph->reach[i] == REACH_INDIRECT) { /* the next one finds it at once */
        uint32_t next = graph->from[i];
        graph->from[i] = leader;
        i = next;
    }
    return leader;
}
