/*
 * Which blocks lead to which, and which are reached from memory outside of blocks. Every word that could be an address
 * counts as one (Boehm and Weiser, "Garbage collection in an uncooperative environment", 1988): of a word the lowest
 * three bits and the upper 16 are ignored, which programs use for marks, and an address anywhere in a block, or right
 * behind its end, leads to the block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/blocks.h"

/* How much a root tells a reader; of several roots of a block the best one is kept. */
enum rank { RANK_NONE, RANK_MEMORY, RANK_STACK, RANK_VARIABLE };

/* What is not at an address, as a root: the number is a thread's, a descriptor's, a timer's. */
#define ROOT_KIND(root) ((root) >> 60)
#define ROOT_NUMBER(root) ((root) & ((1ull << 60) - 1))
enum { ROOT_ADDRESS, ROOT_REGISTER, ROOT_EPOLL, ROOT_TIMER };
#define ROOT_OF(kind, number) ((uint64_t)(kind) << 60 | (number))

enum reach {
    REACH_NONE,     /* not yet known */
    REACH_HELD,     /* a root leads to it */
    REACH_DIRECT,   /* nothing leads to it but what is lost itself */
    REACH_INDIRECT, /* what is REACH_DIRECT leads to it */
};

struct graph {
    const struct blocks *blocks, *free;
    uint64_t low, span; /* addresses that may be a block's: from LOW on, SPAN further */
    uint64_t *roots;    /* of each block: by which root it is held */
    uint8_t *ranks, *reach;
    uint32_t *from;           /* of each block: the one that leads to it, or NO_BLOCK */
    uint32_t *first, *counts; /* of each block: its edges */
    uint32_t *edges, *queue;
    size_t edge_count, edge_capacity, queued, room;
    bool cut;     /* there was no room for more edges: blocks whose count is EDGES_CUT are to be read again */
    bool marking; /* what a block leads to is not an edge, but is held */
    uint32_t owner;
};

#define EDGES_CUT UINT32_MAX

#define ADDRESS_BITS 0x0000fffffffffff8ull /* of a word: what may be an address */

enum { WORD_STEP = 4 }; /* bytes from one word that is looked at to the next: pointers in packed structures count */

/* A word of memory, or of what ROOT_OF tells. */
struct graph_word {
    uint64_t at; /* its address */
    uint64_t word : 48, rank : 16;
};

/* Makes GRAPH one of BLOCKS without edges and roots. What is in FREE and in none of them is no root. 0 or -ENOMEM. */
int graph_begin(struct graph *graph, const struct blocks *blocks, const struct blocks *free);
void graph_free(struct graph *graph);

/* ROOT leads to where WORD does. */
void graph_add_root(struct graph *graph, uint64_t word, uint64_t root, enum rank rank);

/* Takes in the SIZE BYTES that are at ADDRESS: what lies in no block is a root of RANK. */
void graph_add_memory(struct graph *graph, const uint8_t *bytes, uint64_t address, size_t size, enum rank rank);

/* Takes in COUNT of such words, which ascend by address within a block. */
void graph_add_words(struct graph *graph, const struct graph_word *words, size_t count);

/*
 * Finds out what is held, nearest roots first, and of the rest what hangs below what. READ(CONTEXT, I) is called for
 * blocks that are to be taken in again by graph_add_memory or graph_add_words.
 */
void graph_finish(struct graph *graph, void (*read)(void *context, uint32_t i), void *context);

/* The block that is lost itself and that I, which is REACH_INDIRECT, hangs below. */
uint32_t graph_leader(struct graph *graph, uint32_t i);
