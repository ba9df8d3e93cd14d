/*
 * Frames of the kernel's stack that are there because somebody looks: between the place where a tracepoint fires and
 * the program, and those of the program. These frames depend on the other programs that are attached there, so that one
 * place would have several stacks.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "stack_slow.h"
#include "tracer_frames.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct own_code);
} uplua_own_code SEC(".maps");

TRACER_FRAMES_NAMES(IS_NAME)

/* Searched without branches, as in unwind.bpf.c. */
static __always_inline int is_own(const struct own_code *own, __u64 address)
{
    __u32 at = 0;
#pragma unroll
    for (__u32 step = OWN_RANGES / 2; step; step /= 2) {
        __u32 next = at + step;
        OPAQUE(next);
        next &= OWN_RANGES - 1;
        __s64 below = (__s64)(address - own->ranges[next].start) >> 63;
        at += step & ~(__u32)below;
    }
    OPAQUE(at);
    at &= OWN_RANGES - 1;
    return address - own->ranges[at].start < own->ranges[at].size;
}

long uplua_stack_own(struct scratch *scratch, long count, long raw)
{
    enum { MOST = 16 };
    __u32 none = 0;
    struct own_code *own = bpf_map_lookup_elem(&uplua_own_code, &none);
    long found = 0;
    if (!scratch || !own)
        return 0;
    for (int i = 0; i < MOST && i < count; i++) {
        if (is_own(own, scratch->stack.frames[i] - 1)) /* a return address */
            found = i + 1;
        else if (found || !raw)
            break;
    }
    return found;
}
