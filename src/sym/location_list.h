/* Which expression says where a variable is, by address: of all its scope, or of a list of locations. */
#pragma once

#include <elfutils/libdw.h>

#include "elf/bytes.h"
#include "sym/debuginfo.h"

/* What an expression is evaluated for. */
struct location_context {
    struct debuginfo *debuginfo; /* NULL: the expression belongs to none, nor to a unit */
    Dwarf_Die unit;
    Dwarf_Die *function; /* whose frame base counts; NULL: none does */
    uint64_t address;
    bool at_entry;
    Dwarf_Half version; /* of the unit */
    uint8_t offset_size;
};

/*
 * The expression for where ENTRY is, by its attribute NAME; RANGED: by a list. 0; -ENODATA: there is none; -ERANGE: the
 * list has none for the context's address; -EINVAL: damaged.
 */
int location_expression(struct location_context *context, Dwarf_Die *entry, unsigned name, struct bytes *expression,
                        bool *ranged);
/* NUMBER of the unit's addresses, of DW_OP_addrx and its kin; false: it has fewer. */
bool location_indexed(struct location_context *context, uint64_t number, uint64_t *address);
