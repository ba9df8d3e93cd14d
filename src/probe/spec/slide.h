/*
 * From a function's entry to the next instruction that the kernel emulates. A probe on another one is single-stepped,
 * which costs ten times as much; 6 of 10 functions of Debian's libraries begin with one.
 *
 * The probe still sees every call there, in the same state. The instructions before it change no argument, no register
 * that a caller gets back, not the stack pointer and no memory. So e.argN, stacks and the return address at [sp] are
 * those of the entry, and a return probe may be set there too. These instructions cannot end the program, and no jump
 * leads to the new place, or between the entry and it.
 */
#pragma once

#include "arch/instruction.h"
#include "probe/probe.h"

/* A function's machine code, with what stands around it. */
struct slide_code {
    const uint8_t *bytes;
    size_t before; /* of them: instructions of others, … */
    size_t size;   /* … the function's, … */
    size_t after;  /* … and again of others */
    /* bytes from the entry to the next place in or behind the function that others are known to lead to */
    uint64_t limit;
};

/*
 * How many bytes from the entry the site is best. *WHY: what to tell of it, static; NULL: nothing. slide_sites
 * (probe.h) does this for files.
 */
unsigned slide_distance(const struct arch_code *arch, const struct slide_code *code, enum slide slide,
                        const char **why);
