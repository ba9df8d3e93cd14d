/* Finds the definitions of types that are only declared where they are used. */
#include "sym/debugdefinition.h"

#include <dwarf.h>
#include <string.h>

#include "sym/debugentry.h"

enum { DEEPEST = DEBUGENTRY_DEEPEST };

/* The names from the unit to a type, which is the last. */
struct path {
    struct step {
        const char *name;
        int tag;
    } steps[DEEPEST];
    unsigned count;
};

/* --- where a declaration stands --- */

/* The child of PARENT that is TARGET or contains it: a child's own follow it, before the next one. */
static bool find_child_around(Dwarf_Die *parent, Dwarf_Off target, Dwarf_Die *result)
{
    Dwarf_Die entry;
    bool found = false;
    if (dwarf_child(parent, &entry))
        return false;
    do {
        if (dwarf_dieoffset(&entry) > target)
            break;
        *result = entry;
        found = true;
    } while (debugentry_next(&entry));
    return found;
}

static bool find_path(Dwarf_Die *declaration, struct path *path)
{
    Dwarf_Die entry;
    Dwarf_Off target = dwarf_dieoffset(declaration);
    path->count = 0;
    if (!dwarf_diecu(declaration, &entry, NULL, NULL))
        return false;
    while (path->count < DEEPEST && find_child_around(&entry, target, &entry)) {
        int tag = dwarf_tag(&entry);
        const char *name = dwarf_diename(&entry);
        if (!name || (tag != DW_TAG_namespace && !debugentry_is_structure(tag)))
            return false;
        path->steps[path->count++] = (struct step){name, tag};
        if (dwarf_dieoffset(&entry) == target)
            return true;
    }
    return false;
}

/* --- its definition --- */

/* True if ENTRY is what STEP names; a class may be declared as a struct, and a struct as a class. */
static bool is_step(Dwarf_Die *entry, const struct step *step)
{
    int tag = dwarf_tag(entry);
    bool alike = tag == step->tag || (tag == DW_TAG_class_type && step->tag == DW_TAG_structure_type) ||
                 (tag == DW_TAG_structure_type && step->tag == DW_TAG_class_type);
    const char *name = alike ? dwarf_diename(entry) : NULL;
    return name && !strcmp(name, step->name);
}

/* Looks below PARENT for what PATH leads to from its step NUMBER on. */
static bool find_below(Dwarf_Die *parent, const struct path *path, unsigned number, Dwarf_Die *result)
{
    Dwarf_Die entry;
    if (dwarf_child(parent, &entry))
        return false;
    do {
        if (!is_step(&entry, &path->steps[number]))
            continue;
        if (number + 1 < path->count) {
            if (find_below(&entry, path, number + 1, result))
                return true;
        } else if (!dwarf_hasattr(&entry, DW_AT_declaration)) {
            *result = entry;
            return true;
        }
    } while (debugentry_next(&entry));
    return false;
}

bool debugdefinition_find(Dwarf_Die *declaration, Dwarf_Die *result)
{
    Dwarf *dwarf = dwarf_cu_getdwarf(declaration->cu);
    struct path path;
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit, other;
    bool found = false;
    if (!find_path(declaration, &path) || !dwarf_diecu(declaration, &unit, NULL, NULL))
        return false;
    bool unique = debugentry_is_cpp(&unit);
    while (!dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL)) {
        if (!find_below(&unit, &path, 0, found ? &other : result))
            continue;
        if (found && !debugtype_same(result, &other))
            return false;
        found = true;
        if (unique)
            break;
    }
    return found;
}
