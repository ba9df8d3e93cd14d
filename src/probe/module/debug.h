/* Debug information of the binaries that probes are put into: their own, or that of their separate debug files. */
#pragma once

#include "probe/module/binary.h"
#include "sym/debuginfo.h"

/*
 * Reads the debug information of BINARY into *DEBUGINFO, which the caller frees. Where there is none, ERR begins with
 * TEXT, the spec, says PURPOSE ("which source lines are found by"), and how to get some. 0 or -errno.
 */
int debug_open(const struct binary *binary, const char *text, const char *purpose, struct debuginfo **debuginfo,
               struct error *err);

/* The same, kept for the next question and as long as the process lives: types of it have numbers
 * (sym/debugtypes.h). */
int debug_keep(const struct binary *binary, const char *text, const char *purpose, struct debuginfo **debuginfo,
               struct error *err);

/*
 * Sets ERR, which begins with TEXT: DEBUGINFO, that of the file MODULE, says nothing of WHAT ("this function"), whose
 * code is at ADDRESS. Returns -ENOENT, or -EOPNOTSUPP where it is in other files (split DWARF).
 */
int debug_undescribed(struct debuginfo *debuginfo, uint64_t address, const char *text, const char *module,
                      const char *what, struct error *err);
