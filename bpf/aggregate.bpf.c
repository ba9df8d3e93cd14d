/*
 * Updates of aggregations. Values are per CPU, but a handler may be interrupted by another one on the same CPU: every
 * update is atomic all the same.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "aggregate.h"

__u64 hist_lost[HIST_LOST_COUNT];

/* The compiler may assume nothing about X: keeps the verifier's bounds and the compiler's in one place. */
#define OPAQUE(x) asm volatile("" : "+r"(x))

/* floor(log2 V) of V > 0, without branches or loops. */
static __always_inline __u64 log2_floor(__u64 v)
{
    __u64 result = 0, step;
#define STEP(bits)                                                                                                     \
    step = (__u64)(((1ull << (bits)) - 1 - v) >> 63) << __builtin_ctz(bits); /* bits, if v has a bit above them */      \
    v >>= step;                                                                                                        \
    result += step
    /* v is below 2^63, so that the sign of the difference is its comparison. */
    STEP(32);
    STEP(16);
    STEP(8);
    STEP(4);
    STEP(2);
    STEP(1);
#undef STEP
    return result;
}

static __always_inline void raise_to(__u64 *maximum, __u64 value)
{
    /* Each failure means that another handler has raised it meanwhile. */
    for (int attempt = 0; attempt < 8; attempt++) {
        __u64 old = *(volatile __u64 *)maximum;
        if (old >= value || __sync_val_compare_and_swap(maximum, old, value) == old)
            return;
    }
    __sync_fetch_and_add(&hist_lost[HIST_LOST_EXTREME], 1);
}

/* Adds V to the struct hist at VALUE. Returns 0. */
__hidden long uplua_hist_add(void *value, long v)
{
    struct hist *hist = value;
    __u64 bucket = v < 0 ? 0 : v == 0 ? 1 : 2 + log2_floor((__u64)v);
    OPAQUE(bucket);
    if (bucket >= HIST_BUCKETS) /* for the verifier */
        return 0;
    __sync_fetch_and_add(&hist->buckets[bucket], 1);
    __sync_fetch_and_add(&hist->sum, v);
    __u64 biased = (__u64)v ^ (1ull << 63);
    raise_to(&hist->max, biased);
    raise_to(&hist->min, ~biased);
    return 0;
}
