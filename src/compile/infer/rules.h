/* The rule of each operation: from its arguments' types to its own. */
#pragma once

#include "compile/ir/ir.h"

struct inference {
    struct compiler *compiler;
    struct arena *arena;
    struct function *function; /* of the value looked at */
    bool changed;
    bool final; /* the types are settled: what is still unknown is nil */
};

/*
 * The type of VALUE, as far as those of its arguments are known; widens what it stores into. Sets CHANGED where a
 * shared object or a record got another type by it. Types that conflict end the compilation, with both places.
 */
struct type infer_value(struct inference *inference, struct value *value);
