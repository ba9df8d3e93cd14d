/*
 * Functions that jump to their own first instruction: a loop that begins where the function does. A probe there is hit
 * once a round. So is one on a string instruction with a rep prefix, which the kernel steps: the CPU traps after each
 * of its rounds.
 *
 * Such hits are told from calls by more probes of the handler's program, which only take down what comes next: one on
 * each jump that leads to the entry ("the next hit is no call, with this stack pointer"), and where the jump is
 * conditional one behind it ("no, it went on"). The program asks at the entry whether that was said
 * (compile/lower/reentry.c), and knows by its cookie where it is (sys/cookie.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a program takes down what comes next. */
struct reentry_mark {
    uint64_t inside; /* bytes from the function's entry */
    bool passed; /* a jump that may have led to the entry has not; else: it leads there, or goes on to such a place */
};

/* The jumps of one function to its entry. */
struct reentries {
    const char *unknown; /* why they cannot be told from calls, for people, static; NULL: they can, by the marks */
    bool repeats;        /* its first instruction is hit again and again */
    size_t count;
    struct reentry_mark marks[];
};
