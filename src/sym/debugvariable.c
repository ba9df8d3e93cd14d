/* Looks through all units for a variable. */
#include "sym/debugvariable.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "sym/debugentry.h"
#include "sym/location.h"

struct variable_search {
    struct debuginfo *debuginfo;
    const char *name;
    uint64_t address;
    Dwarf_Die found;
    bool any, exact;
};

/* True if VARIABLE lies at ADDRESS, which is told only where that is fixed. */
static bool lies_at(struct debuginfo *debuginfo, Dwarf_Die *variable, uint64_t address)
{
    Dwarf_Attribute attribute;
    Dwarf_Block block;
    struct location location;
    Dwarf_Off entry = dwarf_dieoffset(variable);
    bool fixed = dwarf_attr(variable, DW_AT_location, &attribute) && !dwarf_formblock(&attribute, &block);
    if (!fixed || location_find(debuginfo, entry, entry, 0, false, &location) || location.count != 1 ||
        location.pieces[0].kind != LOCATION_IN_MEMORY)
        return false;
    const struct location_number *number = &location.pieces[0].number;
    return number->base == LOCATION_FILE && !number->loads && (uint64_t)number->offset == address;
}

/* Looks at the variables below PARENT: its own, those of its namespaces, and the static ones of its functions. */
static void search_variables(Dwarf_Die *parent, int depth, struct variable_search *search)
{
    Dwarf_Die entry;
    if (depth == DEBUGENTRY_DEEPEST || dwarf_child(parent, &entry))
        return;
    do {
        int tag = dwarf_tag(&entry);
        if (tag == DW_TAG_namespace || tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block)
            search_variables(&entry, depth + 1, search);
        if (tag != DW_TAG_variable || search->exact)
            continue;
        const char *name = dwarf_diename(&entry);
        search->exact = lies_at(search->debuginfo, &entry, search->address);
        bool named = name && !strcmp(name, search->name) && dwarf_hasattr(&entry, DW_AT_location);
        if (search->exact || (named && !search->any)) {
            search->found = entry;
            search->any = true;
        }
    } while (!search->exact && debugentry_next(&entry));
}

int debugvariable_find(struct debuginfo *debuginfo, const char *name, uint64_t address, uint32_t *type)
{
    struct variable_search search = {.debuginfo = debuginfo, .name = name, .address = address};
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit;
    if (!debugentry_begin())
        return -ELOOP;
    while (!search.exact && !dwarf_get_units(debuginfo_dwarf(debuginfo), cu, &cu, NULL, NULL, &unit, NULL))
        search_variables(&unit, 0, &search);
    if (search.any)
        *type = debugtype_of(&search.found);
    debugentry_end();
    return search.any ? 0 : -ENOENT;
}
