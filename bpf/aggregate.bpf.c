/*
 * Updates of aggregations. Values are per CPU, but a handler may be interrupted by another one on the same CPU: every
 * update is atomic all the same.
 *
 * The functions that are not hidden are global to the verifier, which goes through them once in a program and not at
 * each call, with any memory of the size of their argument's type: all but uplua_insert and uplua_insert_sum, as
 * Linux 6.1 takes no maps there. They are not to be inlined.
 */
#include <linux/bpf.h>
#include <linux/errno.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "aggregate.h"
#include "stack.h"

__u64 uplua_aggregate_lost[AGGREGATE_LOST_COUNT];

AGGREGATE_NAMES(IS_NAME)

#define SIGN (1ull << 63)

/* floor(log2 V) of V > 0, V below 2^63, without branches or loops. */
static __always_inline __u64 log2_floor(__u64 v)
{
    __u64 result = 0, step;
#define STEP(bits)                                                                                                     \
    step = (__u64)(((1ull << (bits)) - 1 - v) >> 63) << __builtin_ctz(bits); /* bits, if v has a bit above them */     \
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

/* The bucket of V in an lhist of COUNT buckets of STEP from LOW on: 0 for what is below, COUNT + 1 for what is
 * above. */
__noinline unsigned long uplua_linear_bucket(long v, long low, unsigned long step, unsigned long count)
{
    if (v < low)
        return 0;
    unsigned long bucket = ((unsigned long)v - (unsigned long)low) / step;
    return bucket < count ? bucket + 1 : count + 1;
}

/* The same of an unsigned V. The buckets end below 2^63. */
__noinline unsigned long uplua_linear_bucket_unsigned(unsigned long v, long low, unsigned long step,
                                                      unsigned long count)
{
    return v & SIGN ? count + 1 : uplua_linear_bucket((long)v, low, step, count);
}

/*
 * The bucket of V in an hdr with 2^BITS buckets to each power of two, and twice as many of width 1 at the beginning;
 * the last one is for negative values. Source: HdrHistogram's countsArrayIndex, with a lowest discernible value of 1.
 */
__noinline unsigned long uplua_hdr_bucket(long v, unsigned long bits)
{
    if (v < 0)
        return (65 - bits) << bits;
    unsigned long scale = log2_floor((__u64)v | ((2ul << bits) - 1)) - bits;
    return (scale << bits) + ((__u64)v >> scale);
}

/* The same of an unsigned V. */
__noinline unsigned long uplua_hdr_bucket_unsigned(unsigned long v, unsigned long bits)
{
    if (!(v & SIGN))
        return uplua_hdr_bucket((long)v, bits);
    unsigned long scale = 63 - bits;
    return (scale << bits) + (v >> scale);
}

/* Adds V to SUM. The two words together are exact: an addition that passes the end of the first one is counted in the
 * second. */
static __always_inline void add_to_sum(struct sum *sum, __u64 v, bool is_unsigned)
{
    __u64 before = __sync_fetch_and_add(&sum->low, v), after = before + v;
    __s64 wraps = is_unsigned && v & SIGN ? 1 : 0; /* such a V is 2^64 more than what low takes it for */
    if ((before ^ after) & (v ^ after) & SIGN)
        wraps += v & SIGN ? -1 : 1;
    if (wraps)
        __sync_fetch_and_add(&sum->wraps, wraps);
}

/* Adds V to SUM. Returns 0. */
__noinline long uplua_sum_add(struct sum *sum, long v)
{
    if (sum)
        add_to_sum(sum, (__u64)v, false);
    return 0;
}

/* The same of an unsigned V. */
__noinline long uplua_sum_add_unsigned(struct sum *sum, unsigned long v)
{
    if (sum)
        add_to_sum(sum, v, true);
    return 0;
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
    __sync_fetch_and_add(&uplua_aggregate_lost[AGGREGATE_LOST_EXTREME], 1);
    return 0;
}

/* Most values raise nothing. */
static __always_inline void raise_to(__u64 *maximum, __u64 value)
{
    if (*(volatile __u64 *)maximum < value)
        uplua_raise(maximum, (long)value);
}

static __always_inline void distribute(struct distribution *distribution, __u64 v, bool is_unsigned)
{
    __u64 place = is_unsigned ? v : v ^ SIGN;
    add_to_sum(&distribution->sum, v, is_unsigned);
    raise_to(&distribution->max, place);
    raise_to(&distribution->min, ~place);
}

/* Adds V to all but the buckets of DISTRIBUTION. Returns 0. */
__noinline long uplua_distribute(struct distribution *distribution, long v)
{
    if (distribution)
        distribute(distribution, (__u64)v, false);
    return 0;
}

/* The same of an unsigned V. */
__noinline long uplua_distribute_unsigned(struct distribution *distribution, unsigned long v)
{
    if (distribution)
        distribute(distribution, v, true);
    return 0;
}

/* The compiler may assume nothing about X: keeps the verifier's bounds and the compiler's in one place. */
#define OPAQUE(x) asm volatile("" : "+r"(x))

static __always_inline void add_to_hist(struct hist *hist, __u64 v, bool is_unsigned)
{
    unsigned long bucket = v & SIGN ? (is_unsigned ? LOG2_BUCKETS - 1 : 0) : v == 0 ? 1 : 2 + log2_floor(v);
    OPAQUE(bucket);
    if (!hist || bucket >= LOG2_BUCKETS) /* for the verifier */
        return;
    __sync_fetch_and_add(&hist->buckets[bucket], 1);
    distribute(&hist->all, v, is_unsigned);
}

/* Adds V to HIST. Returns 0. */
__noinline long uplua_hist_add(struct hist *hist, long v)
{
    add_to_hist(hist, (__u64)v, false);
    return 0;
}

/* The same of an unsigned V. */
__noinline long uplua_hist_add_unsigned(struct hist *hist, unsigned long v)
{
    add_to_hist(hist, v, true);
    return 0;
}

/*
 * The element KEY of MAP, per CPU, which was not there a moment ago: made from ZEROS. The kernel cannot always give its
 * memory at once. The allocator of such values sleeps. A burst of new keys soon uses up its ready memory. And the code
 * that the handler has interrupted may hold the map's lock. The element is then made in SPILL, which all CPUs share.
 * NULL if MAP is full, or if there is no memory at all.
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

/*
 * The same of a count or sum, of which most keys come a few times only: those of stacks and of processes. A new element
 * per CPU takes 3 to 15 us, a shared one 0.5. So each key begins in SPILL. Where it is looked for there, it gets an
 * element in MAP one time in 64: what comes often is soon counted per CPU. SPILL has all keys, and is full when there
 * are too many.
 */
__hidden void *uplua_insert_sum(void *map, void *spill, const void *key, const void *zeros)
{
    enum { OFTEN = 64 };
    void *shared = bpf_map_lookup_elem(spill, key);
    if (shared && bpf_get_prandom_u32() % OFTEN)
        return shared;
    if (!shared) {
        int status = (int)bpf_map_update_elem(spill, key, zeros, BPF_NOEXIST);
        if (status == -E2BIG)
            return 0;
        if (!status || status == -EEXIST)
            return bpf_map_lookup_elem(spill, key);
    }
    bpf_map_update_elem(map, key, zeros, BPF_NOEXIST);
    void *own = bpf_map_lookup_elem(map, key);
    return own ? own : shared;
}

/* The value, of the stretch STRETCH, of all keys together that an aggregation has no room for, whose map OVERFLOW is.
 * NULL only for the verifier. */
__hidden void *uplua_overflow(void *overflow, __u32 stretch)
{
    struct overflow *all = bpf_map_lookup_elem(overflow, &stretch);
    if (!all)
        return 0;
    __sync_fetch_and_add(&all->hits, 1);
    if (!all->since)
        all->since = bpf_ktime_get_ns();
    return all + 1;
}
