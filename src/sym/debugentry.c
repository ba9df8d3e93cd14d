/* Entries of debug information and their attributes, as libdw gives them. */
#include "sym/debugentry.h"

#include <dwarf.h>

enum {
    MAX_ENTRIES = 1 << 27
}; /* that one question passes, of a file of which siblings go in circles: about two seconds */

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

bool debugentry_referred(Dwarf_Die *entry, unsigned name, Dwarf_Die *result)
{
    Dwarf_Attribute attribute;
    return dwarf_attr(entry, name, &attribute) && dwarf_formref_die(&attribute, result);
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
