/* Indirect functions (IFUNC): the implementation that a process has chosen. */
#pragma once

#include "probe/module/binary.h"

struct ifunc_name {
    const char *name;
    const char *version; /* NULL: it has none, or it is not known */
};

/*
 * The ELF address in BINARY of the implementation that process PID uses for its function NAME, whose resolver is at
 * RESOLVER, from what the loader has written to the slots through which the function is called: those of the library
 * itself, and of all that link with it. 0; -ENOENT: it has not been chosen yet, PID has not mapped the file, or may not
 * be read; -ENOMEM.
 */
int ifunc_implementation(const struct binary *binary, const struct ifunc_name *name, uint64_t resolver, pid_t pid,
                         uint64_t *address);
