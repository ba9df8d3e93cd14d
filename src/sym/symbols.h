/* Addresses of processes → names. Mappings are read when a process is first seen and again when an address is unknown; they are kept after it has exited. */
#ifndef UPLUA_SYM_SYMBOLS_H
#define UPLUA_SYM_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sys/error.h"

struct symbols; /* a cache of processes and of the ELF files that they map */

struct symbol {
    const char *function; /* demangled, control characters escaped; NULL where nothing is known. Owned by SYMBOLS. */
    const char *module;   /* path as the process sees it, "[vdso]", "[heap]" …; NULL: no mapping has the address */
    uint64_t offset;      /* from the function's start, or from the module's load address (ELF address) if there is no function */
};

struct symbols *symbols_new(void);
void symbols_free(struct symbols *symbols);

/* Looks for separate debug files below DIRECTORY instead of /usr/lib/debug. To be called first. 0 or -ENOMEM. */
int symbols_set_debug_root(struct symbols *symbols, const char *directory);

/*
 * Reads the mappings of PID now and opens the files it executes, so that they are known even if it exits. Called
 * again it brings them up to date. 0 or -errno.
 */
int symbols_add_process(struct symbols *symbols, pid_t pid);

/*
 * Names ADDRESS of process PID in *RESULT. Always fills it; returns 0, or -ENOENT where not even a mapping is known.
 * Functions come from the file's .symtab, a separate debug file (build id, debuglink with its CRC), else .dynsym.
 */
int symbols_lookup(struct symbols *symbols, pid_t pid, uint64_t address, struct symbol *result);

#endif
