/* How C++ passes a class by value, by its members and functions. */
#include "sym/debugclass.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "sym/debugentry.h"
#include "sym/debugtypes.h"

enum { MAX_CLASSES = 10000 }; /* that one question looks into: parts of parts may be many in few bytes */

static unsigned classes_left;

/* What a class's functions say. */
struct special {
    Dwarf_Die *structure;
    const char *name; /* of the class … */
    size_t length;    /* … without what is in <> */
    bool doubtful;    /* the compiler does not write down which functions are = default */
    enum class_passing passing;
    unsigned copies, deleted; /* of constructors that copy or move */
    bool moves;               /* it can be assigned by moving, which deletes the copy constructor */
};

static enum class_passing worse(enum class_passing a, enum class_passing b)
{
    if (a == CLASS_BY_ADDRESS || b == CLASS_BY_ADDRESS)
        return CLASS_BY_ADDRESS;
    return a == CLASS_DOUBTFUL ? a : b;
}

/* gcc 8 was the first to write down what is = default: "GNU C++17 12.2.0 -g". */
static bool tells_defaults(Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    const char *producer = dwarf_attr(unit, DW_AT_producer, &attribute) ? dwarf_formstring(&attribute) : NULL;
    if (!producer || strncmp(producer, "GNU C++", 7) != 0 || strstr(producer, "-gstrict-dwarf"))
        return false;
    const char *version = strchr(producer + 4, ' ');
    return version && strtoul(version + 1, NULL, 10) >= 8;
}

/* True if the programmer wrote the function ENTRY, so that it runs code. */
static bool is_written(Dwarf_Die *entry)
{
    Dwarf_Word defaulted;
    return !debugentry_flag(entry, DW_AT_artificial) &&
           !(debugentry_number(entry, DW_AT_defaulted, &defaulted) && defaulted == DW_DEFAULTED_in_class);
}

/* The tag of the reference to the class that the only parameter of FUNCTION, beside those that the compiler adds, is;
 * 0: it is none. */
static int reference_taken(const struct special *special, Dwarf_Die *function)
{
    Dwarf_Die entry, type;
    int tag = 0;
    unsigned count = 0;
    if (dwarf_child(function, &entry))
        return 0;
    do {
        if (dwarf_tag(&entry) != DW_TAG_formal_parameter || debugentry_flag(&entry, DW_AT_artificial))
            continue;
        if (count++ || !debugentry_referred(&entry, DW_AT_type, &type))
            return 0;
        tag = dwarf_tag(&type);
        if ((tag != DW_TAG_reference_type && tag != DW_TAG_rvalue_reference_type) ||
            !debugentry_referred(&type, DW_AT_type, &type))
            return 0;
        for (int depth = 0; depth < DEBUGENTRY_DEEPEST &&
                            (dwarf_tag(&type) == DW_TAG_const_type || dwarf_tag(&type) == DW_TAG_volatile_type);
             depth++)
            if (!debugentry_referred(&type, DW_AT_type, &type))
                return 0;
        const char *name = dwarf_diename(&type);
        if (type.addr != special->structure->addr && !(name && special->name && !strcmp(name, special->name)))
            return 0;
    } while (debugentry_next(&entry));
    return tag;
}

static void add_written(struct special *special, Dwarf_Die *function)
{
    if (is_written(function))
        special->passing = worse(special->passing, special->doubtful ? CLASS_DOUBTFUL : CLASS_BY_ADDRESS);
}

static void add_function(struct special *special, Dwarf_Die *function)
{
    const char *name = dwarf_diename(function);
    Dwarf_Word virtuality;
    if (debugentry_number(function, DW_AT_virtuality, &virtuality) && virtuality != DW_VIRTUALITY_none)
        special->passing = CLASS_BY_ADDRESS; /* its objects know their class, which copying sets */
    else if (!name || !special->name)
        return;
    else if (name[0] == '~')
        add_written(special, function);
    else if (!strcmp(name, "operator="))
        special->moves |= reference_taken(special, function) == DW_TAG_rvalue_reference_type;
    else if (strlen(name) == special->length && !strncmp(name, special->name, special->length) &&
             reference_taken(special, function)) {
        special->copies++;
        if (debugentry_flag(function, DW_AT_deleted))
            special->deleted++;
        else
            add_written(special, function);
    }
}

static enum class_passing passing_of(Dwarf_Die *entry, int depth);

/* Of what a base or a member, whose type ENTRY has, does to its class. */
static enum class_passing passing_of_part(Dwarf_Die *entry, int depth)
{
    Dwarf_Die type = *entry;
    for (int i = 0; i < DEBUGENTRY_DEEPEST && debugentry_referred(&type, DW_AT_type, &type); i++) {
        int tag = dwarf_tag(&type);
        if (tag == DW_TAG_array_type || tag == DW_TAG_typedef || tag == DW_TAG_const_type ||
            tag == DW_TAG_volatile_type)
            continue;
        if (!debugentry_is_structure(tag))
            break;
        uint32_t number = debugtype_of(entry); /* where it is only declared here, its definition is elsewhere */
        struct debugtype array;
        while (depth < DEBUGENTRY_DEEPEST && !debugtype_get(number, &array) && array.kind == DEBUGTYPE_ARRAY &&
               array.element != number)
            number = array.element, depth++;
        return debugtype_entry(number, &type) && !dwarf_hasattr(&type, DW_AT_declaration) ? passing_of(&type, depth + 1)
                                                                                          : CLASS_DOUBTFUL;
    }
    return CLASS_BY_VALUE;
}

static void add_child(struct special *special, Dwarf_Die *entry, int depth)
{
    const char *name;
    Dwarf_Word virtuality;
    switch (dwarf_tag(entry)) {
    case DW_TAG_inheritance:
        if (debugentry_number(entry, DW_AT_virtuality, &virtuality) && virtuality != DW_VIRTUALITY_none)
            special->passing = CLASS_BY_ADDRESS;
        else
            special->passing = worse(special->passing, passing_of_part(entry, depth));
        break;
    case DW_TAG_member:
        name = dwarf_diename(entry);
        if (name && !strncmp(name, "_vptr", 5))
            special->passing = CLASS_BY_ADDRESS;
        else if (!dwarf_hasattr(entry, DW_AT_external) &&
                 !dwarf_hasattr(entry, DW_AT_declaration)) /* static members are no part of it */
            special->passing = worse(special->passing, passing_of_part(entry, depth));
        break;
    case DW_TAG_subprogram:
        add_function(special, entry);
        break;
    default:
        break;
    }
}

static enum class_passing passing_of(Dwarf_Die *structure, int depth)
{
    Dwarf_Die entry, unit;
    Dwarf_Word convention;
    if (debugentry_number(structure, DW_AT_calling_convention, &convention) && convention != DW_CC_normal)
        return convention == DW_CC_pass_by_reference ? CLASS_BY_ADDRESS : CLASS_BY_VALUE;
    if (depth >= DEBUGENTRY_DEEPEST || !classes_left || !dwarf_diecu(structure, &unit, NULL, NULL))
        return CLASS_DOUBTFUL;
    classes_left--;
    if (!debugentry_is_cpp(&unit) || dwarf_child(structure, &entry))
        return CLASS_BY_VALUE;
    struct special special = {
        .structure = structure, .name = dwarf_diename(structure), .doubtful = !tells_defaults(&unit)};
    special.length = special.name ? strcspn(special.name, "<") : 0;
    do {
        add_child(&special, &entry, depth);
    } while (special.passing != CLASS_BY_ADDRESS && debugentry_next(&entry));
    bool none_left = special.copies ? special.copies == special.deleted : special.moves;
    return none_left ? CLASS_BY_ADDRESS : special.passing;
}

enum class_passing debugclass_passing(uint32_t number)
{
    enum class_passing passing = CLASS_DOUBTFUL;
    Dwarf_Die entry;
    if (!debugentry_begin())
        return passing;
    classes_left = MAX_CLASSES;
    if (debugtype_entry(number, &entry))
        passing = passing_of(&entry, 0);
    debugentry_end();
    return passing;
}
