/* What can stand in a spec behind what is typed of it. */
#pragma once

#include <stdbool.h>

#include "probe/target.h"

/* Names, sorted, each once. What is in it belongs to it. */
struct completions {
    char **names;
    size_t count;
    char *text; /* that they lie in */
};

/*
 * The names of the functions that begin with PREFIX in the files that BINARY means for TARGET (probe_resolve). Separate
 * debug files are asked where a file has no .symtab. BRIEF: where all of them begin with more than PREFIX, only that
 * beginning, without a look at their order. 0, or -errno and ERR.
 */
int complete_functions(const char *binary, const char *prefix, bool brief, const struct target *target,
                       struct completions *completions, struct error *err);

/* The same of the programs and libraries that TARGET has mapped, or will, by the names that specs have for them: "libc"
 * for libc.so.6; of the whole machine the libraries that the dynamic loader knows. */
int complete_modules(const char *prefix, const struct target *target, struct completions *completions,
                     struct error *err);
void completions_free(struct completions *completions);
