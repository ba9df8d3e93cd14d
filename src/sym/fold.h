/* Stacks as one line of names, for flame graphs. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sym/symbols.h"

/*
 * Names frame NUMBER of FRAMES, the stack of process PID and PROGRAM (symbols_lookup), the innermost first. Most frames
 * are return addresses: the function is that of the call before them, the offset theirs. Where the stack begins, and
 * where the user's begins below the kernel's, an address is that of the next instruction. A signal's trampoline is
 * returned to without having called: it starts at its address. Returns the address that was named.
 */
uint64_t symbols_lookup_frame(struct symbols *symbols, pid_t pid, uint64_t program, const uint64_t *frames,
                              size_t number, struct symbol *result);

/*
 * The COUNT frames of a stack of process PID and PROGRAM, the innermost first, as "main;serve;zmalloc": the outermost
 * first, functions without offsets; what has no name is its module and where the function begins there, or where it is,
 * or its address. Returns the text, which stays valid until the next call (there is one for all SYMBOLS: the program
 * has one thread), and in *LENGTH its bytes.
 */
const char *symbols_fold(struct symbols *symbols, pid_t pid, uint64_t program, const uint64_t *frames, size_t count,
                         size_t *length);
