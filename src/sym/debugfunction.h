/*
 * Functions as the DWARF of programs describes them. One that is inlined, cloned or split has an entry for what the
 * source has and one for each instance with code, which need not have all of its parameters.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sym/debuginfo.h"

/* A function with code, as its parameters need it. Texts are static. */
struct debugfunction {
    uint64_t entry;    /* where the source's function stands in .debug_info, … */
    uint64_t instance; /* … and this code of it */
    uint64_t address;  /* where the code begins, an ELF address … */
    /* … with so many bytes that only mark that calls may lead there; 0 until someone looks at that */
    uint32_t landing;
    uint32_t result;     /* its type (sym/debugtypes.h); 0: void */
    bool of_rust;        /* it is Rust's, and called as that calls its own */
    bool is_closure;     /* of Rust's */
    bool of_go;          /* it is Go's, whose compiler passes arguments in registers as abi-internal.md has it */
    bool of_fortran;     /* it is Fortran's, which passes by reference what is not declared VALUE */
    const char *foreign; /* its language, where that has a calling convention of its own; or NULL */
    bool own_convention; /* the compiler says that it is not called as others are */
    bool external;       /* other files may call it */
    bool variant; /* the compiler has made it of the source's and named it so; false until someone looks at that */
    enum debugfunction_compiler {
        COMPILER_OTHER,
        COMPILER_GCC,
        COMPILER_GCC_UNOPTIMISED, /* says so: then parameters are in their places once the prologue has run */
        COMPILER_CLANG,
        COMPILER_FLANG,     /* leaves parameters of a function out, so that those that it has tell no places … */
        COMPILER_OLD_FLANG, /* … and, before version 20, calls structs integers */
    } compiler;
};
/* The function of DEBUGINFO whose code has ADDRESS; -ENOENT: none. */
int debugfunction_at(struct debuginfo *debuginfo, uint64_t address, struct debugfunction *result);

struct debugparameter {
    const char *name;  /* "" where it has none; as long as the debuginfo */
    uint32_t type;     /* sym/debugtypes.h */
    uint64_t instance; /* where in .debug_info the instance says where it is; 0: the instance lacks it */
};
/*
 * Parameter NUMBER, from 0, of FUNCTION: those of the source, and those that the compiler has added and passes. 0,
 * -ERANGE behind the last, or another -errno.
 */
int debugfunction_parameter(struct debuginfo *debuginfo, const struct debugfunction *function, unsigned number,
                            struct debugparameter *result);
