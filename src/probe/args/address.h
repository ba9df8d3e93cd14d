/* Where a function or a variable is in a running process. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * The address in process PID of the function or else the variable SPEC ("libc:malloc", "./app:main+0x1c",
 * "libc:stdout"; see probe_resolve and variable.h), in *ADDRESS. 0, or -errno with the reason in ERR: no such process,
 * binary, function or variable, or one that is not mapped, or several of that name.
 */
int probe_address(const char *spec, pid_t pid, uint64_t *address, struct error *err);
