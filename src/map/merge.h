/* The records of several rings in one order of time, which their heads have (bpf/timed.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "map/ring.h"

struct merge;

/* Makes a merge of no rings. NULL: out of memory. */
struct merge *merge_new(void);
void merge_free(struct merge *merge);
/* Adds RING, borrowed, of SIZE bytes; returns its number, from 0 on, or -1: out of memory. */
int merge_add(struct merge *merge, struct ring *ring, size_t size);

/* A record to be read: its ring, by number, and where its header lies in the ring's data. */
struct merged {
    uint64_t time, position;
    uint32_t ring, at;
};

/*
 * Finds the records whose time is up to UNTIL (CLOCK_MONOTONIC in ns; it is NOW), of each ring the first ones that are
 * complete: *RECORDS, in order of time, valid until the next call. Returns their number.
 */
size_t merge_find(struct merge *merge, uint64_t until, uint64_t now, const struct merged **records);
/* What merge_find has found is done with: gives it back to the kernel. */
void merge_release(struct merge *merge);
/* Ring NUMBER is left alone from now on, and what merge_find has found of it from the NEXT-th record on. */
void merge_stop(struct merge *merge, uint32_t number, size_t next);
/* It is read again. */
void merge_resume(struct merge *merge, uint32_t number);
/* True if a ring is so full that its records cannot wait. */
int merge_is_full(const struct merge *merge);
/* Records that came later than one that had been found before and is later in time. */
uint64_t merge_disorder(const struct merge *merge);
