/*
 * Where a function's parameters are when it is entered, by the calling conventions for C and C++ of x86_64 ("System V
 * Application Binary Interface, AMD64 Architecture Processor Supplement", 3.2.3) and aarch64 ("Procedure Call Standard
 * for the Arm 64-bit Architecture", 6.8). Both are understood on either, so that they can be tested on either.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PASSING_LEAVES = 16 };

/* The type of a parameter or a result. */
struct passing_type {
    uint64_t size;   /* bytes */
    bool aggregate;  /* a struct or union */
    bool by_address; /* C++ passes its address instead */
    bool doubtful;   /* or may do so */
    bool empty;      /* C++'s class without members */
    bool x87;        /* x86_64's long double, also as a field */
    /* The numbers and addresses that it consists of; more than there is room for make it too large for registers. */
    struct passing_leaf {
        uint64_t offset;
        unsigned size;
        bool floating;
    } leaves[PASSING_LEAVES];
    size_t leaf_count;
};

/* The parameters so far. */
struct passing {
    uint16_t machine;          /* EM_X86_64, EM_AARCH64 */
    unsigned integers, floats; /* registers taken */
    uint64_t stack;            /* bytes */
    /* an integer of 128 bits that registers cannot hold as a whole is passed as each compiler likes: clang before 18
     * splits it */
    bool splits_wide;
    bool lost;       /* a parameter was none that is known here: nothing can be said of those behind it */
    bool stack_lost; /* the same of those behind it that are on the stack */
};

struct passed {
    enum { PASSED_INTEGERS, PASSED_FLOATS, PASSED_MIXED, PASSED_STACK, PASSED_ADDRESS, PASSED_NOT, PASSED_UNKNOWN } in;
    /* of INTEGERS and of an ADDRESS, which an integer register has: the registers, numbered as e.argN */
    unsigned first, count;
    uint64_t offset; /* of STACK: bytes above the stack pointer at the entry */
};

/* Begins with the parameters of a function for MACHINE that returns RESULT; NULL: nothing. It is lost from the start
 * where it is not known whether an address for the result is passed before them. */
struct passing passing_begin(uint16_t machine, const struct passing_type *result);
/* Where the next parameter, of TYPE, is. */
struct passed passing_next(struct passing *passing, const struct passing_type *type);
