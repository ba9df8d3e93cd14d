/* The passes over typed SSA, in their order. */
#pragma once

#include "compile/ir/ir.h"

/* All of them but pass_combine_loads: each value once, adds in place, jump threading, dead values, loads sunk to their
 * use. */
void pass_optimise(struct function *function);
/* Joins reads of fields that lie close to each other into one call (combine_loads.c). */
void pass_combine_loads(struct function *function);

/* --- parts of pass_optimise --- */

/* True if so little happens between FROM and TO that what the one finds in a map is as good to the other. */
bool ir_is_soon(const struct value *from, const struct value *to);
/* Jumps past branches that the path to them decides (jump_threading.c). Returns whether it has changed anything. */
bool pass_jump_threading(struct function *function);
/* Moves loads to where they are used (sink_loads.c): last of all, since it says how reads are lowered. */
void pass_sink_loads(struct function *function);
