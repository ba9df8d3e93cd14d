/* Where a variable is that belongs to no function, as a handler at an instruction of its file finds it. */
#pragma once

#include <stdbool.h>

#include "probe/args/local_place.h"
#include "probe/module/binary.h"

/*
 * The variable that NAME means in CONTEXT's code ("total", "ns::counter"), or its part ("config.limits[2]"), in
 * *RESULT, as local_place has it; BINARY is the file. False: the file knows no such variable.
 */
bool global_place(struct local_context *context, const struct binary *binary, const char *name,
                  struct argument *result);
