/* Entries of debug information and their attributes, as libdw gives them. */
#include "sym/debugentry.h"

#include <dwarf.h>

enum {
    MAX_ENTRIES = 1 << 27, /* that one question passes, of a file of which siblings go in circles: about two seconds */
    MAX_ORIGINS = 8,
};

static uint32_t entries_left;  /* of this question */
static int depth_of_questions; /* that are asked to answer it: types of elements, of fields … */

bool debugentry_begin(void)
{
    if (depth_of_questions >= DEBUGENTRY_DEEPEST)
        return false;
    if (!depth_of_questions++)
        entries_left = MAX_ENTRIES;
    return true;
}

void debugentry_end(void)
{
    depth_of_questions--;
}

bool debugentry_next(Dwarf_Die *entry)
{
    if (!entries_left)
        return false;
    entries_left--;
    return dwarf_siblingof(entry, entry) == 0;
}

bool debugentry_number(Dwarf_Die *entry, unsigned name, Dwarf_Word *number)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(entry, name, &attribute) && !dwarf_formudata(&attribute, number);
}

bool debugentry_flag(Dwarf_Die *entry, unsigned name)
{
    Dwarf_Attribute attribute;
    bool flag;
    return dwarf_attr(entry, name, &attribute) && !dwarf_formflag(&attribute, &flag) && flag;
}

/* Compilers may put a type into a unit of its own (-fdebug-types-section): others have no more than its signature. */
static void follow_signature(Dwarf_Die *entry)
{
    Dwarf_Attribute attribute;
    Dwarf_Die definition;
    int tag = dwarf_tag(entry);
    if ((debugentry_is_structure(tag) || tag == DW_TAG_enumeration_type) &&
        dwarf_attr(entry, DW_AT_signature, &attribute) && dwarf_formref_die(&attribute, &definition))
        *entry = definition;
}

static bool refer(Dwarf_Attribute *attribute, Dwarf_Die *result)
{
    if (!attribute || !dwarf_formref_die(attribute, result))
        return false;
    follow_signature(result);
    return true;
}

bool debugentry_referred(Dwarf_Die *entry, unsigned name, Dwarf_Die *result)
{
    Dwarf_Attribute attribute;
    return refer(dwarf_attr(entry, name, &attribute), result);
}

bool debugentry_type(Dwarf_Die *entry, Dwarf_Die *result)
{
    Dwarf_Attribute attribute;
    return refer(dwarf_attr_integrate(entry, DW_AT_type, &attribute), result);
}

Dwarf_Die debugentry_root(Dwarf_Die entry)
{
    Dwarf_Die origin;
    for (int depth = 0; depth < MAX_ORIGINS && (debugentry_referred(&entry, DW_AT_abstract_origin, &origin) ||
                                                debugentry_referred(&entry, DW_AT_specification, &origin));
         depth++)
        entry = origin;
    return entry;
}

const char *debugentry_linkage_name(Dwarf_Die *root)
{
    Dwarf_Attribute attribute;
    Dwarf_Die unit;
    bool external = debugentry_flag(root, DW_AT_external);
    /* Rust's are unique, and its functions are external or not by how they were compiled. */
    if (!external && (!dwarf_diecu(root, &unit, NULL, NULL) || dwarf_srclang(&unit) != DW_LANG_Rust))
        return NULL;
    if (dwarf_attr(root, DW_AT_linkage_name, &attribute))
        return dwarf_formstring(&attribute);
    return external ? dwarf_diename(root) : NULL;
}

bool debugentry_holds_functions(int tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
        return true;
    default:
        return false;
    }
}

bool debugentry_is_structure(int tag)
{
    return tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_class_type;
}

bool debugentry_is_cpp(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case 0x2b: /* DW_LANG_C_plus_plus_17 and _20, which libdw does not know */
    case 0x2c:
        return true;
    default:
        return false;
    }
}
