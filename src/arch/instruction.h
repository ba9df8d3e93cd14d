/*
 * Machine code as the choice of a probe's site needs it. Both decoders are built on either CPU, so that either tests
 * both; the native one is arch_code().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arch_instruction {
    unsigned length;
    bool refused; /* the kernel puts no probe on it */
    /* the kernel does something else in its place, so that a probe on it would corrupt the program: what; else NULL */
    const char *mistaken;
    bool replaced; /* the kernel puts a call in its place, which overwrites the stack below the stack pointer */
    bool emulated; /* a probe on it costs no single step: the kernel does itself what it does */
    bool push;     /* it puts a register on the stack, as the beginning of a function does once */
    /* once it has run, a handler sees what it would have seen before: its registers, the stack and memory; and it
     * surely ends */
    bool harmless;
    bool landing_pad; /* marks where calls and jumps may lead to, and does nothing else: endbr64, bti */
    bool nop;         /* it does nothing */
    bool conditional; /* a jump on a condition */
    bool returns;     /* from the function */
    bool indirect;    /* a jump to where a register or a table says: maybe into the same function */
    bool calls;       /* another function, and comes back */
    bool direct;      /* a jump or call to a fixed place: */
    int64_t target;   /* bytes from the instruction's first */
};

struct arch_code {
    const char *name;
    unsigned step; /* instructions start at multiples of it */
    /* The instruction that CODE (SIZE bytes) begins with; false where that is none. */
    bool (*decode)(const uint8_t *code, size_t size, struct arch_instruction *instruction);
    /*
     * Bytes from OFFSET of CODE (SIZE bytes) to behind what the CPU has to run without an interruption, if OFFSET is
     * inside: a probe would interrupt it, again and again. 0: it is not.
     */
    size_t (*uninterrupted)(const uint8_t *code, size_t size, size_t offset);
    /*
     * Every place in CODE (SIZE bytes, the first at ADDRESS) whose bytes, if an instruction began there, would be a far
     * direct jump or call to an address from LOW to below HIGH: VISIT gets that address. More than there are, since
     * data and the middle of instructions count; never fewer.
     */
    void (*far_targets)(const uint8_t *code, size_t size, uint64_t address, uint64_t low, uint64_t high,
                        void (*visit)(uint64_t target, void *context), void *context);
    unsigned far_length; /* bytes of the longest of these */
    unsigned near_reach; /* other direct jumps reach no further than so many bytes */
};

extern const struct arch_code arch_code_x86_64, arch_code_aarch64;
/* This CPU's. */
const struct arch_code *arch_code(void);
