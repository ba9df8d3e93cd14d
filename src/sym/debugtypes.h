/*
 * Types as the DWARF of programs describes them. Types go by numbers, which stay the same for as long as
 * the process lives, as the debuginfo that they come from has to: equal types of one file have one number where they
 * have a name. All return 0 or a negative errno; -ENOENT: there is none of that name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sym/debuginfo.h"

/* A type, seen through typedefs and qualifiers. */
struct debugtype {
    enum debugtype_kind {
        DEBUGTYPE_OTHER, /* functions, complex numbers, structs that are not defined in the file */
        DEBUGTYPE_VOID,
        DEBUGTYPE_INTEGER, /* enums too */
        DEBUGTYPE_BOOLEAN, /* Fortran's have up to 8 bytes, of which the lowest tells */
        DEBUGTYPE_FLOAT,
        DEBUGTYPE_POINTER, /* C++ references too */
        DEBUGTYPE_ARRAY,
        DEBUGTYPE_STRUCT, /* unions and classes too */
        DEBUGTYPE_TEXT,   /* Fortran's characters: SIZE bytes; 0: as many as the program says */
    } kind;
    uint64_t size;    /* bytes; 0: not known */
    int bits;         /* of an integer: 8 … 128, negative if signed */
    uint64_t count;   /* of an array: elements; 0: not declared */
    uint32_t element; /* what a pointer leads to, or an array consists of */
    /* what the type itself is called, behind its other names: as long as the debuginfo; NULL: nothing */
    const char *own;
    bool is_enum;
    bool is_union; /* a STRUCT whose fields lie above each other */
    /* What calling conventions ask besides: */
    bool extended; /* a float of x86's 80 bits */
    bool complex;  /* OTHER: two floating-point numbers of half the size each */
    bool member;   /* OTHER: C++'s pointer to a member, which is one word or two */
    bool vector;   /* an array that a register holds as a whole */
};

enum { DEBUGTYPE_NAME = 192 };

/* The type NUMBER; 0 is void. */
int debugtype_get(uint32_t number, struct debugtype *result);
/* How C writes it: "struct config *", "char [16]". */
const char *debugtype_name(uint32_t number, char text[DEBUGTYPE_NAME]);

/* A field of a struct or union. */
struct debugfield {
    const char *name; /* as long as the debuginfo */
    uint32_t type;
    uint64_t offset;     /* bytes */
    int first_bit, bits; /* of a bitfield: where it starts in the byte at OFFSET, how many; BITS is 0 for others */
};
/* The field NAME of the struct NUMBER; those of unnamed members and of base classes count as its own. */
int debugtype_field(uint32_t number, const char *name, struct debugfield *result);
/*
 * Calls VISIT for each field of the struct NUMBER as debugtype_field finds them, until it returns non-zero, which is
 * then returned. Unnamed members that are no structs are left out.
 */
int debugtype_fields(uint32_t number, int (*visit)(const struct debugfield *field, void *context), void *context);

/* Calls VISIT for each constant of the enum NUMBER, until it returns non-zero, which is then returned. */
int debugtype_values(uint32_t number, int (*visit)(const char *name, int64_t value, void *context), void *context);

/* Forgets all types, before a debuginfo is freed that some of them are of. */
void debugtypes_forget(void);
