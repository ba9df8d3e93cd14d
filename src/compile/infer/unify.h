/* Values that handlers and the script store into one place must have types that agree: each function widens a type, or
 * reports both uses. */
#pragma once

#include "compile/ir/ir.h"

/* OBJECT gets a key, or a value, of type FROM at AT. True if its type was widened; a disagreement ends the
 * compilation. */
bool unify_key(struct compiler *compiler, const struct position *at, struct shared *object, struct type from);
bool unify_value(struct compiler *compiler, const struct position *at, struct shared *object, struct type from);
/* The same of the field that SET (IR_SET_FIELD) stores into records of SHAPE. */
bool unify_field(struct compiler *compiler, const struct value *set, struct record *shape, struct type from);

/* Ends the compilation: at AT, OBJECT is used without the key that it has elsewhere. */
_Noreturn void unify_without_key(struct compiler *compiler, const struct position *at, const struct shared *object);
