/*
 * Where functions are inlined into others, as these describe it: a call there is no call any more, and what stands at
 * the function's entry does not see it.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sym/debuginfo.h"

/*
 * True if ENTRY, an inlined function, is no call that the source has: compilers may split a function, and put a part of
 * it back where it was, which is then described as inlined into its own function.
 */
bool debuginlined_is_part(Dwarf_Die *entry);

/*
 * Calls VISIT for each place where one of COUNT functions, which begin at the ELF addresses ENTRIES, is inlined: with
 * its number among them, and an address at which code of it begins there. Until VISIT returns non-zero, which is then
 * returned; -ENOMEM. The compiler says of a function whether it has been inlined anywhere: where none has, nothing is
 * searched. Addresses may be of code that the linker has dropped.
 */
int debuginlined_visit(struct debuginfo *debuginfo, const uint64_t *entries, size_t count,
                       int (*visit)(size_t number, uint64_t address, void *context), void *context);
