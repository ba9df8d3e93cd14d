/* Aggregations, as both sides see them in a map's value. All zero is empty. */
#pragma once

#include <linux/types.h>

/* What was added up is low + 2^64 * wraps. */
struct sum {
    __u64 low; /* a signed number */
    __s64 wraps;
};

/*
 * min, max, stats and the histograms: what all values add up to, and behind it, in a word for each bucket, how many of
 * them lie there. The largest and the smallest value are kept as unsigned maxima, biased so that 0 is the least of all:
 * an extreme that no value has raised yet.
 */
struct distribution {
    struct sum sum;
    __u64 max; /* v ^ 2^63; an unsigned v itself */
    __u64 min; /* ~(v ^ 2^63), ~v */
};

/* hist: [0] negative values, [1] zeros, [2 + floor(log2 v)] the others, of which only unsigned ones reach the last. */
#define LOG2_BUCKETS 66

struct hist {
    struct distribution all;
    __u64 buckets[LOG2_BUCKETS];
};

/* A histogram of more buckets is kept as several distributions of so many, each with its own key. */
#define STRETCH_BITS 7
#define STRETCH (1 << STRETCH_BITS)

/*
 * What an aggregation that is exported has of all keys together that it has no room for: an element of a map of its
 * own, for each stretch, in which the value stands behind this.
 */
struct overflow {
    __u64 hits;  /* how often a handler added to it */
    __u64 since; /* when the first one did: ns, CLOCK_MONOTONIC; 0: never */
};

/* Index of `uplua_aggregate_lost`: a new largest or smallest value gave up against others. Sums and buckets are never
 * lost. */
#define AGGREGATE_LOST_EXTREME 0
#define AGGREGATE_LOST_COUNT 1

/* What the script's side finds by this name (stack.h). */
#define AGGREGATE_NAMES(name) name(uplua_aggregate_lost)
