/* Lines of the source and functions' code: at which instructions which begin. */
#pragma once

#include <stdbool.h>

#include "sym/debuginfo.h"

/*
 * The ELF addresses at which code of LINE of FILE begins, malloc'd, in *ADDRESSES: one for each function that has some,
 * and one for each place where such a function was inlined. FILE and *NEAREST are those of debuginfo_find_line. Returns
 * whether there was memory enough.
 */
bool debuglines_find(struct debuginfo *debuginfo, const char *file, unsigned line, uint64_t **addresses, size_t *count,
                     unsigned *nearest);

/* Where code of a line begins. */
struct debugline {
    uint64_t address;
    unsigned line;
    bool statement;    /* it is the beginning of a statement, where a debugger would stop */
    uint64_t function; /* where in .debug_info its innermost function stands, inlined or not; 0: not known */
};

/*
 * Calls VISIT for each row of the line table, by ascending address, in the function that has code at ADDRESS, until it
 * returns non-zero, which is then returned.
 */
int debuglines_visit(struct debuginfo *debuginfo, uint64_t address,
                     int (*visit)(const struct debugline *line, void *context), void *context);

/* The line where the source's function begins that stands at FUNCTION; 0: not known. */
unsigned debuglines_declared(struct debuginfo *debuginfo, uint64_t function);

/*
 * Where the function's prologue ends that begins at ADDRESS: where the line table says so, or where its second row
 * begins. ADDRESS itself where nothing tells.
 */
uint64_t debuglines_prologue_end(struct debuginfo *debuginfo, uint64_t address);
