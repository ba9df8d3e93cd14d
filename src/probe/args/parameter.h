/*
 * One function's parameters as a probe at its entry finds them. Debug information says where each is at that address
 * (sym/location.h), also where the compiler has left out some and moved the others. Of code that is not optimised it
 * says only where they are once the prologue has stored them: then the calling convention counts (arch/passing.h), if
 * nothing contradicts it.
 */
#pragma once

#include "base/arena.h"
#include "base/argument.h"
#include "sym/debugfunction.h"

/*
 * The parameters of FUNCTION for a handler at its entry, or AT_RETURN: *ARGUMENTS and *COUNT, in ARENA; those that
 * cannot be had have the place ARGUMENT_NOWHERE, and the reason as their type. 0, or -errno where the debug information
 * is damaged.
 */
int parameters_of(struct debuginfo *debuginfo, const struct debugfunction *function, bool at_return,
                  struct arena *arena, struct argument **arguments, size_t *count);
