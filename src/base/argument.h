/*
 * What a probe gives its handler: e.args.NAME, e.argN. Who makes the probe knows where each argument is when it hits,
 * and of what type; the compiler types and reads it accordingly (argument.c). A new way to find one is a place here and
 * a case there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Steps of a computation on a stack of numbers of 64 bits. */
enum { ARGUMENT_STEPS = 48 };

struct argument_step {
    enum argument_operation {
        ARGUMENT_NUMBER,     /* puts NUMBER onto the stack */
        ARGUMENT_WORD,       /* puts the context's word at NUMBER there */
        ARGUMENT_THREAD,     /* puts the thread pointer there, which leads to what is the thread's own */
        ARGUMENT_ADD_NUMBER, /* to the top */
        ARGUMENT_RETURN,     /* the top, where the function's return address lies, becomes that address */
        ARGUMENT_LOAD,       /* the top, an address, becomes the NUMBER of bits there, negative: with their sign */
        /* The top, where the function will return to less where the probe stands, becomes what that one of NUMBER
         * CALLERS has passed whose DISTANCE it is; nil: none's. */
        ARGUMENT_PASSED,
        ARGUMENT_NARROW, /* so many of the top's bits count, the same */
        /* The two on top become one: */
        ARGUMENT_ADD,
        ARGUMENT_SUBTRACT,
        ARGUMENT_MULTIPLY,
        ARGUMENT_DIVIDE, /* with signs, towards zero; by 0: 0 */
        ARGUMENT_AND,
        ARGUMENT_OR,
        ARGUMENT_XOR,
        ARGUMENT_SHIFT_LEFT,
        ARGUMENT_SHIFT_RIGHT,
        ARGUMENT_SHIFT_RIGHT_SIGNED,
        ARGUMENT_EQUAL, /* 1 or 0, as the next three, of numbers with signs */
        ARGUMENT_UNEQUAL,
        ARGUMENT_LESS,
        ARGUMENT_LESS_OR_EQUAL,
    } operation;
    int64_t number;
    const struct argument_caller *callers;
};

/* One place that calls a function: what it has passed is what STEPS leave. */
struct argument_caller {
    int64_t distance;
    const struct argument_step *steps;
    size_t step_count;
};

struct argument {
    const char *name; /* "prev_pid"; NULL: it has a number only */
    enum argument_place {
        ARGUMENT_CONTEXT, /* OFFSET bytes into the program's context: a register, a field of the tracepoint's record */
        /* OFFSET bytes from the address that is BASE bytes into the context; nil where that is unreadable */
        ARGUMENT_MEMORY,
        /* OFFSET bytes into the registers whose address is BASE bytes into the context, or, of one
         * system call, with which the thread has entered the kernel: always there */
        ARGUMENT_REGISTERS,
        /* a tracepoint's __data_loc: the word OFFSET bytes into the context says where the bytes lie, and how many */
        ARGUMENT_DATA_LOC,
        ARGUMENT_REL_LOC,  /* __rel_loc: the same, counted from behind the word */
        ARGUMENT_CONSTANT, /* it is NUMBER */
        ARGUMENT_NOWHERE,  /* it cannot be read; TYPE says why: "the kernel keeps it for itself" */
        ARGUMENT_COMPUTED, /* what STEPS leave or, IN_MEMORY, what lies at the address that they leave */
    } place;
    int64_t offset;
    uint32_t base;
    /* of MEMORY: the register INDEX bytes into the context, shifted left by SHIFT, is added; where INDEX_BITS is not
     * 0: */
    uint32_t index;
    int index_bits; /* so many of it count, negative if signed */
    unsigned shift;
    uint64_t number;
    const struct argument_step *steps;
    size_t step_count;
    bool in_memory;
    /* of a struct that a function is passed by value, and that is NOWHERE as a whole: */
    enum argument_passed {
        ARGUMENT_NOT_PASSED, /* nothing is known of it */
        ARGUMENT_IN_WORDS,   /* its words are e.argN from FIRST on */
        ARGUMENT_AT_ADDRESS, /* e.arg FIRST is the address of a copy */
        ARGUMENT_REFERRED,   /* e.arg FIRST is the address of the caller's own, as Fortran passes anything */
    } passed;
    unsigned first;
    const char *length; /* of a text that is REFERRED: the argument that has the number of its bytes; NULL: none */
    bool parts;         /* of an OBJECT that is nowhere as a whole: its fields may have places of their own */
    enum argument_kind {
        ARGUMENT_INTEGER,
        ARGUMENT_BOOLEAN,
        ARGUMENT_POINTER, /* an address, of BITS bits: a pointer where TYPE is known, else a number */
        /* SIZE bytes, which end where the text does or with a NUL; of DATA_LOC: what a handler takes of it at most */
        ARGUMENT_STRING,
        ARGUMENT_ARRAY,  /* of SIZE integers */
        ARGUMENT_OBJECT, /* a struct or an array in the process's memory */
    } kind;
    int bits; /* of an integer, or of an array's: 8, 16, 32, 64, negative if signed */
    uint32_t
        size; /* of an OBJECT: its bytes; 0: an array of a length that only the program knows, TYPE's of elements */
    /* as the probe declares it: "struct task_struct *"; for messages, and to find what a pointer leads to */
    const char *type;
    uint32_t btf;   /* the same as an id of the kernel's BTF, 0: not there */
    uint32_t debug; /* the same as a number of sym/debugtypes.h, 0: not there */
    bool kernel;    /* a pointer leads into the kernel's memory, not the process's */
};
