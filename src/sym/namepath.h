/* The names around an entry of debug information: of the namespaces and classes that it is in. */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

#include "sym/debugentry.h"

struct namepath_step {
    const char *bytes;
    size_t length;
    bool transparent; /* an inline namespace, whose names are those of the one around, too */
    Dwarf_Die entry;  /* of namepath_of alone */
};

/* From the unit inwards; namespaces without names are left out, as code leaves them out. */
struct namepath {
    struct namepath_step steps[DEBUGENTRY_DEEPEST];
    size_t count;
    bool in_function;   /* it goes through a function, as those of lambdas and of local classes do … */
    size_t outside;     /* … which stands behind so many steps … */
    Dwarf_Die function; /* … and is this */
};

/* What is around TARGET, which is what the source has, and not an instance. */
void namepath_of(Dwarf_Die *target, struct namepath *path);
/* Puts the text of LENGTH behind PATH, which borrows it. */
void namepath_push(struct namepath *path, const char *bytes, size_t length);
/* NAME cut at each "::" that is not among a template's arguments; *ABSOLUTE: it begins with one. Borrows NAME. */
void namepath_split(const char *name, struct namepath *path, bool *absolute);
/* True if NAME is the text of STEP. */
bool namepath_is(const struct namepath_step *step, const char *name);
/* True if PATH leads to what the first DEPTH steps of AROUND lead to; inline namespaces may be in one alone. */
bool namepath_leads_to(const struct namepath *path, const struct namepath *around, size_t depth);
/* How many steps A and B begin with that are the same, at most MOST. */
size_t namepath_common(const struct namepath *a, const struct namepath *b, size_t most);
/* True for what has names of its own inside: namespaces, modules, structures. */
bool namepath_has_names(int tag);
