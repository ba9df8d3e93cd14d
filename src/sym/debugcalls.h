/*
 * The calls of a function as its callers describe them: with which arguments (DW_TAG_call_site, and GNU's of before
 * DWARF 5). An argument is said in terms of the caller's registers, those that calls preserve.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "sym/location.h"

struct debugcall {
    uint64_t entry;    /* where it stands in .debug_info */
    uint64_t caller;   /* the same of the function that calls, itself not inlined */
    uint64_t returned; /* where the call returns to, an ELF address */
};

/*
 * Calls VISIT for each described call of the function that stands at FUNCTION, until it returns non-zero, which is then
 * returned. -EMLINK: after a call the function may be entered once more, by jumps, with other arguments; -ELOOP;
 * -ENOMEM.
 */
int debugcalls_visit(struct debuginfo *debuginfo, uint64_t function,
                     int (*visit)(const struct debugcall *call, void *context), void *context);

/*
 * What CALL passes in the register REG, in *NUMBER, by the registers that the caller has then; its terms are RESULT's.
 * 0; -ENODATA: it does not say.
 */
int debugcall_passes(struct debuginfo *debuginfo, const struct debugcall *call, unsigned reg, struct location *result,
                     struct location_number *number);
