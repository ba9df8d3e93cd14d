/*
 * Libraries as the dynamic loader will find them, for programs that have not mapped theirs yet: by DT_NEEDED,
 * LD_PRELOAD, RPATH and RUNPATH, LD_LIBRARY_PATH, ld.so.cache and the standard folders (ld.so(8)), inside a root
 * folder.
 */
#pragma once

#include <stdbool.h>

#include "probe/module/module.h"

/*
 * Whether the file name FILE belongs to the library NAME: libc.so.6, libc-2.31.so and ld-musl-x86_64.so.1 are libc;
 * libssl.so.3 is libssl, and also itself.
 */
bool library_matches(const char *file, const char *name);

/*
 * Appends the program (a path inside ROOT) and all libraries that it is linked with, in the loader's order. What
 * cannot be found is left out: the loader will say so. With ENVIRONMENT, the command will get ours.
 */
int library_closure(const char *root, const char *program, bool environment, struct modules *modules);

/* Appends the libraries of ROOT that the short name NAME means, from ld.so.cache and the standard folders. */
int library_find(const char *root, const char *name, struct modules *modules);
