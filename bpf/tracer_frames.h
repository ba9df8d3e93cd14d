/* The kernel's own code between a tracepoint and what is called there, as both sides see it: the map `stack_own` has
 * one struct own_code. */
#pragma once

#include <linux/types.h>

/* Linux 6.18 has 280 such ranges. */
#define OWN_RANGES 1024

struct own_code {
    struct {
        __u64 start, size;
    } ranges[OWN_RANGES]; /* by ascending start, from [1] on; behind the last, start is OWN_NO_START */
};

#define OWN_NO_START (~0ull)

/* What the script's side finds by this name (stack.h). */
#define TRACER_FRAMES_NAMES(name) name(uplua_own_code)
