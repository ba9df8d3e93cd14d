/* Aggregations, as both sides see them in a map's value. All zero is empty. */
#ifndef UPLUA_BPF_AGGREGATE_H
#define UPLUA_BPF_AGGREGATE_H

#include <linux/types.h>

#define HIST_BUCKETS 66

/* The largest and the smallest value are kept as unsigned maxima, biased so that 0 is less than all of them. */
struct hist {
    __s64 sum;
    __u64 max; /* v ^ 2^63 */
    __u64 min; /* ~(v ^ 2^63) */
    __u64 buckets[HIST_BUCKETS]; /* [0] negative values, [1] zeros, [2 + floor(log2 v)] the others */
};

/* Index of `hist_lost`: an update of max or min gave up against others. Sum and buckets are never lost. */
#define HIST_LOST_EXTREME 0
#define HIST_LOST_COUNT 1

#endif
