/* The functions of debug information and their parameters. */
#include "sym/debugfunction.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/debugentry.h"

enum { DEEPEST = DEBUGENTRY_DEEPEST };

/* --- the function --- */

/* The language of UNIT where its functions are not called as C's are. */
static const char *foreign_language(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_Go:
        return "Go";
    case DW_LANG_Rust:
        return "Rust";
    case DW_LANG_Swift:
        return "Swift";
    case DW_LANG_OCaml:
        return "OCaml";
    case DW_LANG_Haskell:
        return "Haskell";
    case DW_LANG_Mips_Assembler: /* any CPU's; it says nothing of parameters */
        return "assembly language";
    default:
        return NULL;
    }
}

/* Go's own compiler: gcc's passes arguments as C does. Before 1.17 arguments were on the stack. */
static bool has_go_registers(Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    const char *producer = dwarf_attr(unit, DW_AT_producer, &attribute) ? dwarf_formstring(&attribute) : NULL;
    return dwarf_srclang(unit) == DW_LANG_Go && producer && strstr(producer, "; regabi");
}

static bool is_fortran(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08:
    case 0x2d: /* DW_LANG_Fortran18, which libdw does not know */
        return true;
    default:
        return false;
    }
}

/* LLVM's: "flang version 19.1.7", in Debian with its name before. */
static bool is_flang(const char *producer, enum debugfunction_compiler *compiler)
{
    const char *version = producer ? strstr(producer, "flang version ") : NULL;
    if (version)
        *compiler = strtoul(version + strlen("flang version "), NULL, 10) < 20 ? COMPILER_OLD_FLANG : COMPILER_FLANG;
    return version;
}

/* gcc writes its options into what it calls itself: "GNU C17 12.2.0 -mtune=generic -g -O2"; the last -O counts. */
static enum debugfunction_compiler compiler_of(Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    const char *producer = dwarf_attr(unit, DW_AT_producer, &attribute) ? dwarf_formstring(&attribute) : NULL;
    enum debugfunction_compiler flang;
    if (is_flang(producer, &flang))
        return flang;
    if (producer && strstr(producer, "clang"))
        return COMPILER_CLANG;
    if (!producer || strncmp(producer, "GNU ", 4) != 0)
        return COMPILER_OTHER;
    const char *level = NULL;
    for (const char *at = producer; (at = strstr(at, " -O")); at += 3)
        level = at + 3;
    bool unoptimised =
        level ? *level == '0' : strstr(producer, " -m") != NULL; /* -mtune= is always there where options are */
    return unoptimised ? COMPILER_GCC_UNOPTIMISED : COMPILER_GCC;
}

/* Where the code of ENTRY, some of which is at ADDRESS, is entered: compilers begin with that part, where there are
 * several. */
static uint64_t begin_of(Dwarf_Die *entry, uint64_t address)
{
    Dwarf_Addr start, base, end;
    if (!dwarf_entrypc(entry, &start) || dwarf_ranges(entry, 0, &base, &start, &end) > 0)
        return start;
    return address;
}

/* As rustc calls them. */
static bool is_closure(Dwarf_Die *entry)
{
    const char *name = dwarf_diename(entry);
    return name && !strncmp(name, "{closure", strlen("{closure"));
}

int debugfunction_at(struct debuginfo *debuginfo, uint64_t address, struct debugfunction *result)
{
    Dwarf_Die entry, origin, unit;
    Dwarf_Word convention;
    *result = (struct debugfunction){0};
    if (!debuginfo_function(debuginfo, address, false, &result->instance) ||
        !dwarf_offdie(debuginfo_dwarf(debuginfo), result->instance, &entry))
        return -ENOENT;
    result->own_convention =
        debugentry_number(&entry, DW_AT_calling_convention, &convention) && convention != DW_CC_normal;
    result->address = begin_of(&entry, address);
    if (dwarf_diecu(&entry, &unit, NULL, NULL))
        result->compiler = compiler_of(&unit);
    /* The instance of a function that is inlined elsewhere lacks parameters that it has no use for: the function itself
     * has them. */
    for (int depth = 0; debugentry_referred(&entry, DW_AT_abstract_origin, &origin) && depth < DEEPEST; depth++) {
        if (dwarf_cu_getdwarf(origin.cu) != debuginfo_dwarf(debuginfo)) /* the file that it shares with others */
            break;
        entry = origin;
    }
    result->entry = dwarf_dieoffset(&entry);
    result->result = debugtype_of(&entry);
    if (dwarf_diecu(&entry, &unit, NULL, NULL)) {
        result->foreign = foreign_language(&unit);
        result->is_closure = is_closure(&entry);
        result->of_go = has_go_registers(&unit);
        result->of_fortran = is_fortran(&unit);
    }
    for (int depth = 0; !result->external && depth < DEEPEST; depth++) {
        result->external = debugentry_flag(&entry, DW_AT_external);
        if (!debugentry_referred(&entry, DW_AT_specification, &origin))
            break;
        entry = origin;
    }
    return 0;
}

/* --- its parameters --- */

/* The children of a function one after the other, among them those of gcc's packs (a template's "T... rest"). */
struct children {
    Dwarf_Die entry;
    Dwarf_Die pack; /* that ENTRY is in, … */
    bool inside;    /* … if it is in one */
};

/* Goes into a pack; into the next entry behind it where it has nothing. */
static bool enter_packs(struct children *children)
{
    while (dwarf_tag(&children->entry) == DW_TAG_GNU_formal_parameter_pack) {
        children->pack = children->entry;
        children->inside = dwarf_child(&children->pack, &children->entry) == 0;
        if (children->inside)
            return true;
        children->entry = children->pack;
        if (!debugentry_next(&children->entry))
            return false;
    }
    return true;
}

static bool first_child(Dwarf_Die *function, struct children *children)
{
    children->inside = false;
    return dwarf_child(function, &children->entry) == 0 && enter_packs(children);
}

static bool next_child(struct children *children)
{
    if (debugentry_next(&children->entry))
        return children->inside || enter_packs(children);
    if (!children->inside)
        return false;
    children->inside = false;
    children->entry = children->pack;
    return debugentry_next(&children->entry) && enter_packs(children);
}

/* The parameter of the instance ENTRY that is an instance of PARAMETER; false: it lacks that. */
static bool find_instance(Dwarf_Die *entry, const Dwarf_Die *parameter, Dwarf_Die *result)
{
    struct children children;
    for (bool more = first_child(entry, &children); more; more = next_child(&children)) {
        Dwarf_Die at = *result = children.entry;
        int tag = dwarf_tag(&at);
        if (tag != DW_TAG_formal_parameter &&
            tag != DW_TAG_variable) /* gcc makes variables of those that a clone lacks */
            continue;
        for (int depth = 0; depth < DEEPEST && at.addr != parameter->addr; depth++) {
            Dwarf_Die origin;
            if (!debugentry_referred(&at, DW_AT_abstract_origin, &origin))
                break;
            at = origin;
        }
        if (at.addr == parameter->addr)
            return true;
    }
    return false;
}

/*
 * True if PARAMETER, the FIRST or not, is one that the compiler would add, and has not: to a destructor gcc adds
 * whether a whole object is destroyed, which it makes two functions of.
 */
static bool is_left_out(Dwarf_Die *parameter, bool first, Dwarf_Die *instance)
{
    return !first && debugentry_flag(parameter, DW_AT_artificial) &&
           !(instance && (dwarf_hasattr(instance, DW_AT_location) || dwarf_hasattr(instance, DW_AT_const_value)));
}

static int find_parameter(Dwarf_Die *function, Dwarf_Die *instance, unsigned number, struct debugparameter *result)
{
    struct children children;
    unsigned listed = 0, passed = 0;
    for (bool more = first_child(function, &children); more; more = next_child(&children)) {
        Dwarf_Die *entry = &children.entry, own;
        if (dwarf_tag(entry) != DW_TAG_formal_parameter || debugentry_flag(entry, DW_AT_variable_parameter))
            continue; /* Go's results are parameters that vary */
        bool has_own = find_instance(instance, entry, &own);
        if (is_left_out(entry, !listed++, has_own ? &own : NULL) || passed++ < number)
            continue;
        const char *name = dwarf_diename(entry);
        *result = (struct debugparameter){name ? name : "", debugtype_of(entry), has_own ? dwarf_dieoffset(&own) : 0};
        return 0;
    }
    return -ERANGE;
}

int debugfunction_parameter(struct debuginfo *debuginfo, const struct debugfunction *function, unsigned number,
                            struct debugparameter *result)
{
    Dwarf_Die entry, instance;
    if (!dwarf_offdie(debuginfo_dwarf(debuginfo), function->entry, &entry) ||
        !dwarf_offdie(debuginfo_dwarf(debuginfo), function->instance, &instance))
        return -ENOENT;
    if (!debugentry_begin())
        return -ELOOP;
    int code = find_parameter(&entry, &instance, number, result);
    debugentry_end();
    return code;
}
