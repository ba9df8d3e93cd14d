/*
 * Where a file's data leads to in its code: addresses that the loader fills in (relocations, DT_RELR), words of a
 * program that is not moved, and tables of distances from themselves, as compilers make them of `switch`, that any
 * instruction mentions. Besides, the places that instructions mention themselves.
 */
#pragma once

#include "arch/instruction.h"
#include "probe/module/binary.h"

typedef void code_address_visit(uint64_t address, void *context);

/* Calls VISIT for each of these of BINARY, whose instructions are ARCH's: more than there are, and some more than once.
 * 0, -E2BIG: there may be more, -ENOMEM. */
int code_addresses_visit(const struct binary *binary, const struct arch_code *arch, code_address_visit *visit,
                         void *context);
