/*
 * The variables that the source has where code is: those of the function, of the blocks inside of it, and of functions
 * that were inlined there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sym/debuginfo.h"

/* A variable or a parameter. */
struct debuglocal {
    const char *name; /* as long as the debuginfo */
    uint32_t type;    /* sym/debugtypes.h */
    /* where in .debug_info says where it is (location_find); 0: the compiler has left it out of this code */
    uint64_t entry;
    uint64_t function; /* where the function stands that has it, which may be inlined */
    bool parameter;
    bool inlined;   /* FUNCTION is inlined */
    unsigned depth; /* of the scope, from 0, the function's own */
};

/*
 * Calls VISIT for each variable of the function that has code at ADDRESS whose scope has that address, the innermost
 * scope's first, until it returns non-zero, which is then returned. So the first of a name is what the name means.
 * -ENOENT: no function is known there; -ELOOP.
 */
int debugscope_visit(struct debuginfo *debuginfo, uint64_t address,
                     int (*visit)(const struct debuglocal *local, void *context), void *context);
