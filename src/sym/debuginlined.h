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
 * Called for a place where function NUMBER of those that are asked for is inlined: ADDRESS, at which code of it begins
 * there, and where in .debug_info that is described. 0, or what ends the visits.
 */
typedef int debuginlined_visitor(size_t number, uint64_t address, uint64_t entry, void *context);
/*
 * Calls VISIT for each place where one of COUNT functions, which begin at the ELF addresses ENTRIES, is inlined, until
 * VISIT returns non-zero, which is then returned; -ENOMEM. Only those units are searched that may have such places;
 * a megabyte takes some 40 ms. Addresses may be of code that the linker has dropped.
 */
int debuginlined_visit(struct debuginfo *debuginfo, const uint64_t *entries, size_t count, debuginlined_visitor *visit,
                       void *context);
