/*
 * What a probe gives its handler: e.args.NAME, e.argN. Who makes the probe knows where each argument is when it hits,
 * and of what type; the compiler types and reads it accordingly (argument.c). A new way to find one is a place here and
 * a case there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct argument {
    const char *name; /* "prev_pid"; NULL: it has a number only */
    enum argument_place {
        ARGUMENT_CONTEXT, /* OFFSET bytes into the program's context: a register, a field of the tracepoint's record */
        /* OFFSET bytes from the address that is BASE bytes into the context; nil where that is unreadable */
        ARGUMENT_MEMORY,
        /* OFFSET bytes into the registers whose address is BASE bytes into the context: in the kernel, always there */
        ARGUMENT_REGISTERS,
        /* a tracepoint's __data_loc: the word OFFSET bytes into the context says where the bytes lie, and how many */
        ARGUMENT_DATA_LOC,
        ARGUMENT_REL_LOC,  /* __rel_loc: the same, counted from behind the word */
        ARGUMENT_CONSTANT, /* it is NUMBER */
        ARGUMENT_NOWHERE,  /* it cannot be read; TYPE says why: "the kernel keeps it for itself" */
    } place;
    int64_t offset;
    uint32_t base;
    /* of MEMORY: the register INDEX bytes into the context, shifted left by SHIFT, is added; where INDEX_BITS is not
     * 0: */
    uint32_t index;
    int index_bits; /* so many of it count, negative if signed */
    unsigned shift;
    uint64_t number;
    enum argument_kind {
        ARGUMENT_INTEGER,
        ARGUMENT_BOOLEAN,
        ARGUMENT_POINTER, /* an address, of BITS bits: a pointer where TYPE is known, else a number */
        /* SIZE bytes, which end where the text does or with a NUL; of DATA_LOC: what a handler takes of it at most */
        ARGUMENT_STRING,
        ARGUMENT_ARRAY, /* of SIZE integers */
    } kind;
    int bits; /* of an integer, or of an array's: 8, 16, 32, 64, negative if signed */
    uint32_t size;
    /* as the probe declares it: "struct task_struct *"; for messages, and to find what a pointer leads to */
    const char *type;
    uint32_t btf;   /* the same as an id of the kernel's BTF, 0: not there */
    uint32_t debug; /* the same as a number of sym/debugtypes.h, 0: not there */
    bool kernel;    /* a pointer leads into the kernel's memory, not the process's */
};
