/* Which declaration of a unit a name means in code: from the classes and namespaces around it outwards. */
#pragma once

#include "sym/namepath.h"

enum { DEBUGDECLARATION_USINGS = 64 };

/* A namespace whose names using has brought to where the code sees it from: DEPTH names around the code. */
struct debugdeclaration_using {
    struct namepath path;
    size_t depth;
};

struct debugdeclaration_search {
    Dwarf_Die unit; /* of the code */
    Dwarf_Die function;
    struct namepath around; /* the function */
    struct namepath wanted; /* the name, perhaps with namespaces and classes before it */
    bool outside;           /* classes and functions are passed over */
    bool cpp;
    struct debugdeclaration_using usings[DEBUGDECLARATION_USINGS];
    size_t using_count;
};

enum debugdeclaration_kind {
    DEBUGDECLARATION_NONE,
    DEBUGDECLARATION_VARIABLE,
    DEBUGDECLARATION_NO_VALUE, /* a function, a type, or a variable of a function around, which has none here */
    DEBUGDECLARATION_OTHER,
};

struct debugdeclaration {
    enum debugdeclaration_kind kind;
    Dwarf_Die entry; /* of a variable, what the source has of it */
    char why[160];   /* of others: what the name is there instead */
};

/* Sets what is around FUNCTION, which is no instance, in SEARCH, whose unit is set. All within one question
 * (sym/debugentry.h). */
void debugdeclaration_begin(struct debugdeclaration_search *search, Dwarf_Die *function);
/* Adds the using directive at ENTRY, an offset, which is in effect where the code is. */
void debugdeclaration_use(struct debugdeclaration_search *search, Dwarf *dwarf, uint64_t entry);
/* The names before the last one that are wanted, seen from LEVEL names around the function. */
void debugdeclaration_path(const struct debugdeclaration_search *search, size_t level, struct namepath *path);
/* What the wanted name means. ABSOLUTE: in the unit alone; LEAST: not further out than so many names. */
void debugdeclaration_find(struct debugdeclaration_search *search, bool absolute, size_t least,
                           struct debugdeclaration *result);
