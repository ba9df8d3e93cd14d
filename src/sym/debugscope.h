/*
 * The variables that the source has where code is: those of the function, of the blocks inside of it, and of functions
 * that were inlined there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sym/debuginfo.h"

/* What a name is that a scope declares. */
enum debuglocal_kind {
    DEBUGLOCAL_VARIABLE, /* or a parameter */
    DEBUGLOCAL_OUTSIDE,  /* a variable outside of functions: extern */
    DEBUGLOCAL_ALIAS,    /* by a using declaration: what ENTRY declares */
    DEBUGLOCAL_CONSTANT, /* of an enum */
    DEBUGLOCAL_FUNCTION,
    DEBUGLOCAL_TYPE,
    DEBUGLOCAL_TEMPLATE_PARAMETER,
    DEBUGLOCAL_USING, /* nameless: all names of a namespace, by the directive ENTRY */
};

struct debuglocal {
    enum debuglocal_kind kind;
    const char *name; /* as long as the debuginfo */
    uint32_t type;    /* sym/debugtypes.h */
    /* where in .debug_info says where it is (location_find); 0: the compiler has left it out of this code. Of what is
     * no variable where it stands */
    uint64_t entry;
    uint64_t declared; /* where the source's entry of it is */
    uint64_t function; /* where the function stands that has it, which may be inlined */
    uint64_t scope;    /* where the scope stands */
    bool parameter;
    bool inlined;   /* FUNCTION is inlined */
    unsigned depth; /* of the scope, from 0, the function's own */
};

/*
 * Calls VISIT for each name of the function that has code at ADDRESS whose scope has that address, the innermost
 * scope's first, until it returns non-zero, which is then returned. So the first of a name is what the name means.
 * AT_ENTRY: where the function is entered, before all that it does, so that the scope is its own, whatever the
 * instruction there has been made of. -ENOENT: no function is known there; -ELOOP.
 */
int debugscope_visit(struct debuginfo *debuginfo, uint64_t address, bool at_entry,
                     int (*visit)(const struct debuglocal *local, void *context), void *context);
