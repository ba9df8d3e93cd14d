/* The lines of a function at which one of its variables can be read. */
#pragma once

#include "probe/args/local_place.h"

/*
 * "it is there on the lines 12-14, 18 of main.c", of the variable NAME of the function that stands at FUNCTION, which
 * is CONTEXT's or inlined into that; "" on none. In its arena.
 */
const char *local_lines(const struct local_context *context, const char *name, uint64_t function);
