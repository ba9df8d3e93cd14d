/*
 * Where the DWARF of a program has a parameter when its function is entered, and what that tells of how it is passed.
 * The calling convention, which parameter.c goes by besides, has to agree.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/passing.h"
#include "base/arena.h"
#include "sym/debugfunction.h"
#include "sym/debugtypes.h"
#include "sym/location.h"

/* A parameter's place at the function's entry, by debug information. */
enum found {
    FOUND_NOT,      /* it has none: optimised away, WHY */
    FOUND_LATER,    /* where it is once the prologue has run: the calling convention has to tell */
    FOUND_CONSTANT, /* it is NUMBER there, which need not be what the caller passed */
    FOUND_REGISTER, /* OFFSET bytes into the context */
    FOUND_MEMORY,   /* NUMBER bytes from what is OFFSET bytes into the context */
    FOUND_COMPUTED, /* from what is OFFSET bytes into the context */
};

struct parameter {
    struct debugparameter debug;
    struct debugtype type;
    struct passed passed; /* by the calling convention */
    enum found found;     /* by debug information */
    int offset;
    int64_t number;
    const char *why;
    bool ranged;       /* debug information says so of the entry, not of the whole function */
    bool by_reference; /* the caller passes the address of where it is: Fortran's, unless declared VALUE */
};

struct parameters {
    struct debuginfo *debuginfo;
    const struct debugfunction *function;
    struct parameter *items;
    size_t count;
    bool at_return;
    const char *unreturned; /* nothing says how the result is returned, so that it may have the first argument's place:
                               why; or NULL */
    const char *unconventional; /* why the calling convention tells nothing; NULL: it does. Static */
    struct arena *arena;
};

/* Where in the context the register is that DWARF numbers so; negative: handlers do not see it. */
int parameter_register(unsigned dwarf_register);

/* Where PARAMETER is when its function is entered. As location_find. */
int parameter_location(const struct parameters *all, const struct parameter *parameter, struct location *location);

/* What the place of a parameter tells of how it is passed. */
enum told { TOLD_NOTHING, TOLD_VALUE, TOLD_ADDRESS };
/* An object that is passed by address is where a register or a word of the frame says. */
enum told parameter_told(const struct location *location);

/* Sets what PARAMETER, whose debug and type are set, has by debug information. */
void parameter_find(const struct parameters *all, struct parameter *parameter);
