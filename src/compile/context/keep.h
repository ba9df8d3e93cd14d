/* The state that outlives a compilation: copies of the types that it gave shared objects, in the compiler's own
 * memory. */
#pragma once

#include "compile/context/compiler.h"

/* TYPE, whose records, fixed from here on, the compiler owns. A record that it owns already is not copied again. */
struct type keep_type(struct compiler *compiler, struct type type);

/*
 * What stays of OBJECT, which is loaded: BEFORE is what has stayed of it until now. An unchanged type is not copied
 * again, so that this memory grows only with new objects, new shapes and new kinds of records in rings.
 */
struct shared keep_object(struct compiler *compiler, const struct shared *object, const struct shared *before);
