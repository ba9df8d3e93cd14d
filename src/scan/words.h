/*
 * The words of a stopped process that could be pointers to blocks, and where they are. Only these are read while it
 * stands: what they lead to is looked at once it goes on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/graph.h"

/* Which parts of the address space, of 64 MB each, may have blocks. */
struct address_parts {
    uint8_t *bits;
    uint64_t low, span; /* from LOW on, SPAN further, are all of them */
};

struct words {
    struct graph_word *items; /* as they were added: by ascending address for memory that was added so */
    size_t count, capacity, most;
    const struct address_parts *parts;
};

/* Makes PARTS empty. 0 or -ENOMEM. */
int address_parts_begin(struct address_parts *parts);
/* There may be blocks from START to END, or right behind. */
void address_parts_add(struct address_parts *parts, uint64_t start, uint64_t end);
void address_parts_free(struct address_parts *parts);

/* Makes WORDS empty; it will take at most MOST that lead to PARTS. */
void words_begin(struct words *words, const struct address_parts *parts, size_t most);
void words_free(struct words *words);

/* Adds those that begin in the SIZE BYTES which are at ADDRESS. False, and none is added, where there is no room. */
bool words_add_memory(struct words *words, const uint8_t *bytes, uint64_t address, size_t size, enum rank rank);
/* Adds one that ROOT has. */
bool words_add_root(struct words *words, uint64_t word, uint64_t root, enum rank rank);

/* Those that are from START to END of memory that was added by ascending address, and how many. */
const struct graph_word *words_between(const struct words *words, uint64_t start, uint64_t end, size_t *count);
