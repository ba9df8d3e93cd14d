/* The functions that compilers make of others, by what they call them: calc.constprop.0 is one of calc's. */
#pragma once

#include <stddef.h>

enum clone {
    CLONE_NONE,    /* the function as the source has it, as far as its name tells */
    CLONE_WHOLE,   /* does all that the function does, for some of its callers: .constprop.0, .isra.0 */
    CLONE_PRIVATE, /* the same, of a function that no other file can name: .lto_priv.0 */
    CLONE_PART,    /* a part of the function, which the rest of it, or its callers, go on in: .part.0, .cold */
};

/* What the function is that a symbol of LENGTH bytes at NAME is called by. *BASE: how many of these are the name of the
 * function that it was made of, all where it is none of these. */
enum clone clone_of(const char *name, size_t length, size_t *base);
