/*
 * Separate debug files: where distributions put the symbol table that they stripped from a binary. Found by build id
 * (ROOT/.build-id/ab/cdef….debug) and by .gnu_debuglink (a file name with a CRC-32, beside the binary, in .debug/
 * there, or below the debug root). The rules are gdb's: "Debugging Information in Separate Files".
 */
#pragma once

#include "elf/elf_file.h"

#define DEBUG_FILE_ROOT "/usr/lib/debug"

struct debug_file_search {
    int root;               /* the process's root directory where it differs from ours, else -1 */
    const char *debug_root; /* in our own root; a foreign root is searched with DEBUG_FILE_ROOT first */
    const char *module;     /* path of ELF as the process sees it */
};

/* A descriptor of the debug file of ELF, checked to belong to it; -ENOENT where there is none, -errno. */
int debug_file_open(const struct elf_file *elf, const struct debug_file_search *search);

/*
 * A descriptor of the file that ELF, which has debug information, shares some of it with (.gnu_debugaltlink: what dwz
 * moves there from all files of a package), checked by its build id; -ENOENT where there is none, -errno.
 */
int debug_file_open_common(const struct elf_file *elf, const struct debug_file_search *search);
