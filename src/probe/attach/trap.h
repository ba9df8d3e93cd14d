/*
 * What a hit of a probe in a program takes besides the handler's own time, which the kernel's statistics of programs do
 * not have: the trap, and how the kernel gets past the instruction. It is measured on functions of uplua's own that do
 * nothing, other ones than probe/attach/cost.h has, with a program that does nothing.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "probe/probe.h"

enum trap {
    TRAP_AT_ENTRY,  /* a probe at an instruction */
    TRAP_AT_RETURN, /* one at the entry and one at the return, by the kernel: both together */
    TRAP_AT_EXIT,   /* one at the entry and one on the return instruction: both together */
    TRAPS,
};

/*
 * The ns that TRAP takes at an entry of the kind ENTRY, the median of some calls, into *NS: measured when it is first
 * asked for, which takes some ms. 0, or -errno and ERR.
 */
int trap_price(enum trap trap, enum entry entry, uint64_t *ns, struct error *err);
