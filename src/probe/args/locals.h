/* The variables of a program where a probe stands inside of a function, as handlers get them: e.vars.NAME. */
#pragma once

#include "base/arena.h"
#include "base/argument.h"
#include "probe/probe.h"

/*
 * The variables and parameters that the source has at all of SITES: *ARGUMENTS and *COUNT, in ARENA, those of the
 * innermost scopes first; those that cannot be read have the place ARGUMENT_NOWHERE, and the reason as their type.
 * NAME: that one alone, or a part of it, "list[2].size", which can be read then, or parts of it can. 0, or -errno with
 * the reason in ERR: no debug information, none of that name, or one that is not there, with the lines where it is.
 */
int locals_find(const struct sites *sites, const char *name, struct arena *arena, const struct argument **arguments,
                size_t *count, struct error *err);
