/* Finds variables of a unit of debug information by their addresses. */
#include "sym/debugunit.h"

#include <dwarf.h>
#include <errno.h>

#include "sym/debugentry.h"

/* The variables that are looked for. */
struct variable_search {
    const uint64_t *addresses;
    size_t count;
    int found; /* the number of one; -ENOENT: none so far */
    bool several;
};

/* Where VARIABLE always is, into *ADDRESS; false: nowhere, or not always there. */
static bool address_of(Dwarf_Die *variable, Dwarf_Addr *address)
{
    Dwarf_Attribute location, indexed;
    Dwarf_Op *operations;
    size_t count;
    if (!dwarf_attr(variable, DW_AT_location, &location) || dwarf_getlocation(&location, &operations, &count) ||
        count != 1)
        return false;
    if (operations->atom == DW_OP_addr) {
        *address = operations->number;
        return true;
    }
    return (operations->atom == DW_OP_addrx || operations->atom == DW_OP_GNU_addr_index) &&
           dwarf_getlocation_attr(&location, operations, &indexed) == 0 && dwarf_formaddr(&indexed, address) == 0;
}

static void note_variable(struct variable_search *search, Dwarf_Die *variable)
{
    Dwarf_Addr address;
    if (!address_of(variable, &address))
        return;
    for (size_t i = 0; i < search->count; i++)
        if (search->addresses[i] == address) {
            search->several |= search->found >= 0 && search->found != (int)i;
            search->found = (int)i;
        }
}

/* Goes through what is inside of PARENT: statics may be those of functions and blocks. */
static void search_inside(struct variable_search *search, Dwarf_Die *parent, int depth)
{
    Dwarf_Die entry;
    if (depth == DEBUGENTRY_DEEPEST || dwarf_child(parent, &entry) != 0)
        return;
    do {
        switch (dwarf_tag(&entry)) {
        case DW_TAG_variable:
            note_variable(search, &entry);
            break;
        case DW_TAG_namespace:
        case DW_TAG_subprogram:
        case DW_TAG_lexical_block:
        case DW_TAG_inlined_subroutine:
            search_inside(search, &entry, depth + 1);
            break;
        default:
            break;
        }
    } while (debugentry_next(&entry));
}

int debugunit_variable(struct debuginfo *debuginfo, uint64_t code, const uint64_t *addresses, size_t count)
{
    struct variable_search search = {.addresses = addresses, .count = count, .found = -ENOENT};
    Dwarf_Die function, unit;
    uint64_t entry;
    if (!debuginfo_function(debuginfo, code, false, &entry) ||
        !dwarf_offdie(debuginfo_dwarf(debuginfo), entry, &function) || !dwarf_diecu(&function, &unit, NULL, NULL))
        return -ENOENT;
    if (!debugentry_begin())
        return -ELOOP;
    search_inside(&search, &unit, 0);
    debugentry_end();
    return search.several ? -ENOENT : search.found;
}
