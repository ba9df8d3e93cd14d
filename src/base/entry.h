/*
 * What a handler reads of the state in which its function was entered, and how it comes by that where its probe stands
 * behind the entry (probe/spec/slide.h). Registers have the numbers of their words in a probe's context.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct entry_reads {
    uint64_t registers; /* a bit for each */
    bool memory;        /* of the program, at addresses of its own choice */
    bool returns;       /* the kernel is to follow the call, which it does by the stack pointer */
};

/* How to come by what the register WORD had at the entry. */
struct entry_value {
    uint8_t word;
    enum { ENTRY_VALUE_GONE, ENTRY_VALUE_REGISTER, ENTRY_VALUE_MEMORY } kind : 8;
    uint8_t base; /* the register that holds it, or the address of the word that does less OFFSET … */
    int32_t offset;
    int32_t plus; /* … less PLUS */
};

/* Where a probe's sites have the values that its handler reads. What is not mentioned is in its own register. */
struct entry_shape {
    const struct entry_value *values;
    size_t count;
};

enum { ENTRY_SHAPES = 64 };

/* The same of all sites of a probe. */
struct entry_stand {
    int slid;  /* bytes from the entry to the site; -1: the cookie has that (sys/cookie.h), as of the next ones */
    int entry; /* how the kernel gets past the instruction (enum entry of probe/probe.h) */
    int moved; /* bytes by which the stack pointer has gone down */
    int shape; /* number of the shape */
    const struct entry_shape *shapes;
    size_t shape_count; /* at least 1 */
    bool reenters;      /* some of the functions jump to their own first instructions (probe/reentry.h) */
    size_t back;        /* sites that had slid and stand at their entries now, since this handler reads more */
};
