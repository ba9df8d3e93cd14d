/*
 * Where the DWARF of a program says that a variable or a parameter is while its code is at an address: by
 * DW_AT_location, which is one expression for all of the variable's scope or a list of them by address, or
 * DW_AT_const_value ("DWARF Debugging Information Format Version 5", 2.5, 2.6; of version 4 also GNU's operations).
 * Nothing is read of a process: registers stay symbols, and so does the canonical frame address.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sym/debuginfo.h"

enum { LOCATION_PIECES = 8, LOCATION_LOADS = 2, LOCATION_TERMS = 32 };

/* A number that is known once the program runs: what BASE has, plus OFFSET; LOADS times the word there is read, and
 * AFTER[i] added. */
struct location_number {
    enum location_base {
        LOCATION_ZERO,           /* nothing: OFFSET is the number */
        LOCATION_FILE,           /* where ELF address 0 of the file is mapped */
        LOCATION_REGISTER,       /* REGISTER, by its DWARF number */
        LOCATION_ENTRY_REGISTER, /* what REGISTER had when the function was entered */
        LOCATION_FRAME,          /* the canonical frame address: the stack pointer before the call */
        LOCATION_THREAD,         /* where the running thread has its own copy of the file's _Thread_local variables */
        LOCATION_COMPUTED,       /* TERM of the location */
    } base;
    unsigned reg, term;
    int64_t offset;
    unsigned loads;
    int64_t after[LOCATION_LOADS];
    unsigned bits; /* so many, the lowest, count; 64: all */
    int type;      /* while it is computed: the bits of its type, negative if signed; 0: an address's */
};

/* What two numbers make. */
struct location_term {
    enum location_operation {
        LOCATION_ADD,
        LOCATION_SUBTRACT,
        LOCATION_MULTIPLY,
        LOCATION_DIVIDE, /* with signs, towards zero */
        LOCATION_AND,
        LOCATION_OR,
        LOCATION_XOR,
        LOCATION_SHIFT_LEFT,
        LOCATION_SHIFT_RIGHT,        /* zeros come in */
        LOCATION_SHIFT_RIGHT_SIGNED, /* copies of the highest bit do */
        LOCATION_EQUAL,              /* 1 or 0; the next ones, too: of numbers with signs */
        LOCATION_UNEQUAL,
        LOCATION_LESS,
        LOCATION_LESS_OR_EQUAL,
        LOCATION_NARROW, /* the BITS lowest of A, negative: with their sign */
        LOCATION_LOAD,   /* BITS at the address A */
    } operation;
    int bits;
    struct location_number a, b;
};

/*
 * The number that EXPRESSION leaves, which belongs to no unit, as those of call frame information. FRAME: the canonical
 * frame address lies on the stack at the beginning. False where it is damaged or more than such a number.
 */
bool location_compute(struct bytes expression, bool frame, struct location_number *result);

/* A part of a variable, from its lowest address on. */
struct location_piece {
    enum location_kind {
        LOCATION_MISSING,     /* nothing has it: WHY */
        LOCATION_IN_REGISTER, /* NUMBER.reg */
        LOCATION_IN_MEMORY,   /* at the address NUMBER */
        LOCATION_IS_NUMBER,   /* it is NUMBER */
        LOCATION_IS_BYTES,    /* it is BYTES, of the debuginfo */
    } kind;
    uint64_t size; /* bytes; 0: all of it */
    struct location_number number;
    const uint8_t *bytes;
    const char *why; /* static: "the debug information …" */
};

struct location {
    struct location_piece pieces[LOCATION_PIECES];
    size_t count;
    struct location_term terms[LOCATION_TERMS]; /* each is of earlier ones */
    size_t term_count;
    bool constant; /* by DW_AT_const_value, for all of its scope */
    bool ranged;   /* by a list; else for all of its scope, but perhaps not for the function's first instructions */
};

/*
 * Where the variable that stands at VARIABLE of .debug_info is when the code is at the ELF address ADDRESS, in the
 * function that stands at FUNCTION, itself not inlined. AT_ENTRY: as the function is entered, before the first of its
 * source's statements, of which some may have no code. 0; -ENODATA: nothing says where, it was optimised away; -ERANGE:
 * it is nowhere at this address; -EINVAL: the debug information is damaged.
 */
int location_find(struct debuginfo *debuginfo, uint64_t variable, uint64_t function, uint64_t address, bool at_entry,
                  struct location *result);

/*
 * The number that the attribute NAME of the entry at ENTRY computes, an expression, while the code of the function that
 * stands at FUNCTION is at ADDRESS: in *NUMBER, whose terms are RESULT's. 0, or -ENODATA where it is not understood.
 */
int location_value(struct debuginfo *debuginfo, uint64_t entry, unsigned name, uint64_t function, uint64_t address,
                   struct location *result, struct location_number *number);
