/*
 * Updates of aggregations. Values are per CPU, but a handler may be interrupted by another one on the same CPU: every
 * update is atomic all the same.
 *
 * The functions that are not hidden are global to the verifier, which goes through them once in a program and not at each call, with any
 * memory of the size of their argument's type: all but uplua_insert, as Linux 6.1 takes no maps there. They are not to be inlined.
 */
#include <linux/bpf.h>
#include <linux/errno.h>

#include <bpf/bpf_helpers.h>

#include "aggregate.h"

__u64 aggregate_lost[AGGREGATE_LOST_COUNT];

#define SIGN (1ull << 63)

/* floor(log2 V) of V > 0, V below 2^63, without branches or loops. */
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

/* The bucket of V in an lhist of COUNT buckets of STEP from LOW on: 0 for what is below, COUNT + 1 for what is above. */
__noinline unsigned long uplua_linear_bucket(long v, long low, unsigned long step, unsigned long count)
{
    if (v < low)
        return 0;
    unsigned long bucket = ((unsigned long)v - (unsigned long)low) / step;
    return bucket < count ? bucket + 1 : count + 1;
}

/*
 * The bucket of V in an hdr with 2^BITS buckets to each power of two, and twice as many of width 1 at the beginning; the last one is for
 * negative values. Source: HdrHistogram's countsArrayIndex, with a lowest discernible value of 1.
 */
__noinline unsigned long uplua_hdr_bucket(long v, unsigned long bits)
{
    if (v < 0)
        return (64 - bits) << bits;
    unsigned long scale = log2_floor((__u64)v | ((2ul << bits) - 1)) - bits;
    return (scale << bits) + ((__u64)v >> scale);
}

/* Raises *MAXIMUM to VALUE. */
__noinline long uplua_raise(__u64 *maximum, long value)
{
    if (!maximum)
        return 0;
    /* Each failure means that another handler has raised it meanwhile. */
    for (int attempt = 0; attempt < 8; attempt++) {
        __u64 old = *(volatile __u64 *)maximum;
        if (old >= (__u64)value || __sync_val_compare_and_swap(maximum, old, (__u64)value) == old)
            return 0;
    }
    __sync_fetch_and_add(&aggregate_lost[AGGREGATE_LOST_EXTREME], 1);
    return 0;
}

/* Most values raise nothing. */
static __always_inline void raise_to(__u64 *maximum, __u64 value)
{
    if (*(volatile __u64 *)maximum < value)
        uplua_raise(maximum, (long)value);
}

static __always_inline void distribute(struct distribution *distribution, long v)
{
    __sync_fetch_and_add(&distribution->sum, v);
    raise_to(&distribution->max, (__u64)v ^ SIGN);
    raise_to(&distribution->min, ~((__u64)v ^ SIGN));
}

/* Adds V to all but the buckets of DISTRIBUTION. Returns 0. */
__noinline long uplua_distribute(struct distribution *distribution, long v)
{
    if (distribution)
        distribute(distribution, v);
    return 0;
}

/* The compiler may assume nothing about X: keeps the verifier's bounds and the compiler's in one place. */
#define OPAQUE(x) asm volatile("" : "+r"(x))

/* Adds V to HIST. Returns 0. */
__noinline long uplua_hist_add(struct hist *hist, long v)
{
    unsigned long bucket = v < 0 ? 0 : v == 0 ? 1 : 2 + log2_floor((__u64)v);
    OPAQUE(bucket);
    if (!hist || bucket >= LOG2_BUCKETS) /* for the verifier */
        return 0;
    __sync_fetch_and_add(&hist->buckets[bucket], 1);
    distribute(&hist->all, v);
    return 0;
}

/*
 * The element KEY of MAP, per CPU, which was not there a moment ago: made from ZEROS. Its memory cannot always be had at once: the
 * kernel's allocator of such values sleeps, what it has ready is soon used up by a burst of new keys, and the map's lock
 * may be held by what the handler has interrupted. The element is then made in SPILL, which all CPUs share. NULL if MAP
 * is full, or if there is no memory at all.
 */
__hidden void *uplua_insert(void *map, void *spill, const void *key, const void *zeros)
{
    int status = (int)bpf_map_update_elem(map, key, zeros, BPF_NOEXIST); /* the helper's upper half is undefined */
    if (status && status != -EEXIST) {
        if (status == -E2BIG)
            return 0;
        bpf_map_update_elem(spill, key, zeros, BPF_NOEXIST);
        return bpf_map_lookup_elem(spill, key);
    }
    return bpf_map_lookup_elem(map, key);
}
