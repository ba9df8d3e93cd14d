/* Functions by what they return, as far as a handler of their returns is concerned. */
#pragma once

#include <stddef.h>

#include "probe/args/parameters.h"

struct result_group {
    int bits;         /* of e.ret that count, negative if signed; 0: all, with a sign */
    const char *none; /* or what they return is no integer: "double" */
    size_t count;     /* of functions */
};

/*
 * Divides COUNT functions that return RESULTS: fills OF[i] with the number of each one's group, and GROUPS, which has
 * room for COUNT. How many groups there are.
 */
size_t result_groups_divide(const struct function_result *results, size_t count, size_t *of,
                            struct result_group *groups);
