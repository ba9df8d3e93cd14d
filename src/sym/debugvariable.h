/* Global and static variables as the DWARF of programs describes them. */
#pragma once

#include <stdint.h>

#include "sym/debuginfo.h"

/*
 * The type (sym/debugtypes.h) of the variable NAME, which lies at ADDRESS: in *TYPE; where only variables at other
 * addresses have the name, or at addresses that are not told, that of the first. 0, or -ENOENT: there is none.
 */
int debugvariable_find(struct debuginfo *debuginfo, const char *name, uint64_t address, uint32_t *type);
