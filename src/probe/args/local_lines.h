/* The lines of a function at which one of its variables can be read. */
#pragma once

#include "probe/args/local_place.h"

/* " it is there on the lines 12-14 and 18 of main.c", of the variable NAME of CONTEXT's function; "" on none. In its
 * arena. */
const char *local_lines(const struct local_context *context, const char *name);
