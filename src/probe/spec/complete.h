/* What can stand in a spec behind what is typed of it. */
#pragma once

#include "probe/target.h"

/*
 * The names of the functions that begin with PREFIX in the files that BINARY means for TARGET (probe_resolve), sorted,
 * each once: *NAMES is one malloc'd array of malloc'd strings. Separate debug files are asked where a file has no
 * .symtab. 0, or -errno and ERR.
 */
int complete_functions(const char *binary, const char *prefix, const struct target *target, char ***names,
                       size_t *count, struct error *err);

/* The same of the programs and libraries that TARGET has mapped, or will, by the names that specs have for them: "libc"
 * for libc.so.6; of the whole machine the libraries that the dynamic loader knows. */
int complete_modules(const char *prefix, const struct target *target, char ***names, size_t *count, struct error *err);
