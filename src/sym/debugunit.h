/* The variables of one unit of debug information: those of one source file, which others may have by the same names. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sym/debuginfo.h"

/*
 * Which of the COUNT variables at ELF ADDRESSES the unit has whose code is at ELF address CODE: its number. -ENOENT:
 * none, or several, or nothing is known of that code; -ELOOP.
 */
int debugunit_variable(struct debuginfo *debuginfo, uint64_t code, const uint64_t *addresses, size_t count);
