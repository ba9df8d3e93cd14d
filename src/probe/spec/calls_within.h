/*
 * Which functions of a file call each other, as its code has it: calls and jumps to fixed places, and by words that the
 * loader fills. Functions are taken apart into the stretches that call frame information describes. What is called by a
 * pointer that a program sets is not seen, nor what lies more than CALLS_FAR calls away.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/target.h"

enum {
    CALLS_NEAR = 1, /* calls of a function's helpers, … */
    CALLS_FAR = 4,  /* … and of those that rather report errors, or begin once */
    CALLS_MOST_FAR = 64,
};

enum calls_within {
    CALLS_NONE,
    CALLS_POINTERS, /* none; but what a variable points to, or what the loader finds by a name */
    CALLS_OTHERS,   /* one at least: itself, or a helper that it calls */
    CALLS_UNCLEAR,  /* it cannot be told */
};

/* The functions in question. */
struct calls_wanted {
    const uint64_t *offsets; /* where in the file they begin */
    size_t count;
    const char *const *names; /* by these they are called in other files */
    size_t name_count;
};

struct calls_found {
    enum calls_within *calls; /* of each of them; the caller's array */
    /* addresses of instructions that call one of them, far away from those that call none near */
    uint64_t far[CALLS_MOST_FAR];
    size_t far_count;
};

/*
 * Finds what the functions of WANTED in the file MODULE of TARGET, named as in a spec, call of each other. A jump to
 * another function is a call. 0 or -errno, with the reason in ERR.
 */
int calls_within(const char *module, const struct calls_wanted *wanted, const struct target *target,
                 struct calls_found *found, struct error *err);
