/*
 * C types that the script has declared (ffi.cdef), for up.cast, and the kernel's own (ctype_btf.h). LuaJIT's FFI
 * knows the former; lua/uplua/compile/ctype.lua asks it. const and volatile make no difference: equal types are one
 * struct ctype.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

enum ctype_kind {
    CTYPE_OTHER,   /* what handlers cannot compute with: double, complex, C++ references */
    CTYPE_INTEGER, /* enums too */
    CTYPE_BOOLEAN,
    CTYPE_POINTER,
    CTYPE_ARRAY,
    CTYPE_STRUCT, /* unions too */
};

struct ctype {
    enum ctype_kind kind;
    int handle;
    const char *name; /* "struct request *" */
    uint64_t size;    /* bytes; 0: not known */
    int bits;         /* CTYPE_INTEGER: 8, 16, 32, 64, negative if signed */
    uint64_t count;   /* CTYPE_ARRAY: elements; 0: not declared */
};

/* A field of a struct or union. */
struct ctype_field {
    const struct ctype *type;
    uint64_t offset;     /* bytes */
    int first_bit, bits; /* of a bitfield: where it starts in the byte at OFFSET, how many; BITS is 0 for others */
};

/* A source of types. Handles are above 0; a function that returns 0 fills ERR where there is something to say. */
struct ctype_source {
    /* The type that a declaration such as "struct request *" names. */
    int (*parse)(void *context, const char *declaration, struct error *err);
    /* All of struct ctype but the handle. The name lives as long as the compilation. */
    void (*describe)(void *context, int handle, struct ctype *result);
    /* The type of a pointer's target, or of an array's elements. */
    int (*element)(void *context, int handle, struct error *err);
    /* The field NAME of a struct: its type, and all of *RESULT but that. */
    int (*field)(void *context, int handle, const char *name, struct ctype_field *result, struct error *err);
};
