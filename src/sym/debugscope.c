/* The scopes around an address, from their entries. What is inlined or split names the source's entries as its origin.
 */
#include "sym/debugscope.h"

#include <dwarf.h>
#include <errno.h>

#include "sym/debugentry.h"

enum {
    MAX_SCOPES = 64,      /* one inside of the other */
    MAX_RANGES = 1 << 20, /* that are looked at for one address */
    MAX_TRANSPARENT = 8,  /* blocks without code of their own, one inside of the other */
    MAX_ORIGINS = 8,      /* from an instance to the source's entry */
};

struct scopes {
    uint64_t address;
    Dwarf_Die items[MAX_SCOPES]; /* from the function inwards */
    size_t count;
    bool cpp;
    unsigned ranges_left;
    int (*visit)(const struct debuglocal *local, void *context);
    void *context;
};

/* --- which scopes have the address --- */

static bool is_scope(int tag)
{
    return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_try_block ||
           tag == DW_TAG_catch_block;
}

/* True if the code of ENTRY has the address; *ANY: it has any code. */
static bool covers(struct scopes *scopes, Dwarf_Die *entry, bool *any)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    *any = false;
    while (scopes->ranges_left && (at = dwarf_ranges(entry, at, &base, &start, &end)) > 0) {
        scopes->ranges_left--;
        *any = true;
        if (start <= scopes->address && scopes->address < end)
            return true;
    }
    return false;
}

/* The scope right inside of PARENT that has the address; a block that has no code of its own is passed. */
static bool find_inner(struct scopes *scopes, Dwarf_Die *parent, int depth, Dwarf_Die *result)
{
    Dwarf_Die entry;
    if (depth == MAX_TRANSPARENT || dwarf_child(parent, &entry))
        return false;
    do {
        bool any;
        if (!is_scope(dwarf_tag(&entry)))
            continue;
        if (covers(scopes, &entry, &any)) {
            *result = entry;
            return true;
        }
        if (!any && dwarf_tag(&entry) == DW_TAG_lexical_block && find_inner(scopes, &entry, depth + 1, result))
            return true;
    } while (debugentry_next(&entry));
    return false;
}

/* --- what they have --- */

/* What ENTRY is an instance of, or the definition of. */
static bool origin_of(Dwarf_Die *entry, Dwarf_Die *result)
{
    return debugentry_referred(entry, DW_AT_abstract_origin, result) ||
           debugentry_referred(entry, DW_AT_specification, result);
}

static bool says_where(Dwarf_Die *entry)
{
    return dwarf_hasattr(entry, DW_AT_location) || dwarf_hasattr(entry, DW_AT_const_value);
}

static bool is_variable(Dwarf_Die *entry)
{
    int tag = dwarf_tag(entry);
    return tag == DW_TAG_formal_parameter || tag == DW_TAG_variable;
}

/* Visits ENTRY, with what its origins say of it. Static variables are placed where the source's entry is. */
static int take(struct scopes *scopes, Dwarf_Die *entry, struct debuglocal *local)
{
    Dwarf_Die at = *entry;
    local->parameter = dwarf_tag(entry) == DW_TAG_formal_parameter;
    local->entry = local->type = 0;
    local->name = NULL;
    local->kind = DEBUGLOCAL_VARIABLE;
    for (int depth = 0; depth < MAX_ORIGINS; depth++) {
        Dwarf_Die origin;
        if (dwarf_hasattr(&at, DW_AT_declaration))
            local->kind = DEBUGLOCAL_OUTSIDE;
        if (!local->name)
            local->name = dwarf_diename(&at);
        if (!local->type)
            local->type = debugtype_of(&at);
        if (!local->entry && says_where(&at))
            local->entry = dwarf_dieoffset(&at);
        if (!origin_of(&at, &origin))
            break;
        at = origin;
    }
    local->declared = dwarf_dieoffset(&at);
    return local->name && *local->name ? scopes->visit(local, scopes->context) : 0;
}

static int take_other(struct scopes *scopes, Dwarf_Die *entry, enum debuglocal_kind kind, const char *name,
                      struct debuglocal *local)
{
    local->kind = kind;
    local->name = name;
    local->entry = local->declared = dwarf_dieoffset(entry);
    local->type = 0;
    local->parameter = false;
    return name ? scopes->visit(local, scopes->context) : 0;
}

static int take_constants(struct scopes *scopes, Dwarf_Die *type, struct debuglocal *local)
{
    Dwarf_Die constant;
    int result = 0;
    if (debugentry_flag(type, DW_AT_enum_class) || dwarf_child(type, &constant))
        return 0;
    do
        result = take_other(scopes, &constant, DEBUGLOCAL_CONSTANT, dwarf_diename(&constant), local);
    while (!result && debugentry_next(&constant));
    return result;
}

/* A using declaration, or what Fortran imports, perhaps by another name. */
static int take_import(struct scopes *scopes, Dwarf_Die *import, struct debuglocal *local)
{
    Dwarf_Die target;
    const char *name = dwarf_diename(import);
    if (!debugentry_referred(import, DW_AT_import, &target))
        return 0;
    target = debugentry_root(target);
    int tag = dwarf_tag(&target);
    bool variable = tag == DW_TAG_variable || tag == DW_TAG_member;
    return take_other(scopes, &target,
                      variable                   ? DEBUGLOCAL_ALIAS
                      : tag == DW_TAG_subprogram ? DEBUGLOCAL_FUNCTION
                                                 : DEBUGLOCAL_TYPE,
                      name ? name : dwarf_diename(&target), local);
}

/* What ENTRY declares that is no variable. */
static int take_named(struct scopes *scopes, Dwarf_Die *entry, struct debuglocal *local)
{
    const char *name = dwarf_diename(entry);
    int result = 0;
    switch (dwarf_tag(entry)) {
    case DW_TAG_enumeration_type:
        result = take_constants(scopes, entry, local);
        return result || !scopes->cpp ? result : take_other(scopes, entry, DEBUGLOCAL_TYPE, name, local);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        return scopes->cpp ? take_other(scopes, entry, DEBUGLOCAL_TYPE, name, local) : 0;
    case DW_TAG_typedef:
        return take_other(scopes, entry, DEBUGLOCAL_TYPE, name, local);
    case DW_TAG_subprogram:
        return take_other(scopes, entry, DEBUGLOCAL_FUNCTION, name, local);
    case DW_TAG_template_value_parameter:
    case DW_TAG_template_type_parameter:
        return take_other(scopes, entry, DEBUGLOCAL_TEMPLATE_PARAMETER, name, local);
    case DW_TAG_imported_declaration:
        return take_import(scopes, entry, local);
    case DW_TAG_imported_module:
        return take_other(scopes, entry, DEBUGLOCAL_USING, "", local);
    default:
        return 0;
    }
}

/* True if one of the variables right inside of SCOPE is an instance of VARIABLE. */
static bool has_instance(Dwarf_Die *scope, const Dwarf_Die *variable)
{
    Dwarf_Die entry, origin;
    if (dwarf_child(scope, &entry))
        return false;
    do {
        if (is_variable(&entry) && debugentry_referred(&entry, DW_AT_abstract_origin, &origin) &&
            origin.addr == variable->addr)
            return true;
    } while (debugentry_next(&entry));
    return false;
}

static int visit_scope(struct scopes *scopes, Dwarf_Die *scope, int depth, struct debuglocal *local)
{
    Dwarf_Die entry, origin;
    int result = 0;
    if (depth == MAX_TRANSPARENT)
        return 0;
    local->scope = dwarf_dieoffset(scope);
    if (!dwarf_child(scope, &entry))
        do {
            bool any;
            if (is_variable(&entry))
                result = take(scopes, &entry, local);
            else if (dwarf_tag(&entry) == DW_TAG_lexical_block && !covers(scopes, &entry, &any) && !any)
                result = visit_scope(scopes, &entry, depth + 1, local), local->scope = dwarf_dieoffset(scope);
        } while (!result && debugentry_next(&entry));
    /* Of an instance the compiler may leave out what it has optimised away. */
    bool has_origin = debugentry_referred(scope, DW_AT_abstract_origin, &origin);
    if (!result && has_origin && !dwarf_child(&origin, &entry))
        do {
            if (is_variable(&entry) && !has_instance(scope, &entry))
                result = take(scopes, &entry, local);
        } while (!result && debugentry_next(&entry));
    /* Variables hide types of their names, and of an instance its origin has the others. */
    if (!result && !dwarf_child(has_origin ? &origin : scope, &entry))
        do
            result = take_named(scopes, &entry, local);
        while (!result && debugentry_next(&entry));
    return result;
}

static int visit_all(struct scopes *scopes)
{
    struct debuglocal local = {0};
    int result = 0;
    for (size_t i = scopes->count; i-- && !result;) {
        size_t function = i;
        while (function && dwarf_tag(&scopes->items[function]) != DW_TAG_inlined_subroutine)
            function--;
        local.function = dwarf_dieoffset(&scopes->items[function]);
        local.inlined = function > 0;
        local.depth = (unsigned)i;
        result = visit_scope(scopes, &scopes->items[i], 0, &local);
    }
    return result;
}

int debugscope_visit(struct debuginfo *debuginfo, uint64_t address, bool at_entry,
                     int (*visit)(const struct debuglocal *local, void *context), void *context)
{
    struct scopes scopes = {
        .address = address, .count = 1, .ranges_left = MAX_RANGES, .visit = visit, .context = context};
    uint64_t function;
    Dwarf_Die unit;
    if (!debuginfo_function(debuginfo, address, false, &function) ||
        !dwarf_offdie(debuginfo_dwarf(debuginfo), function, &scopes.items[0]))
        return -ENOENT;
    if (!debugentry_begin())
        return -ELOOP;
    scopes.cpp = dwarf_diecu(&scopes.items[0], &unit, NULL, NULL) && debugentry_is_cpp(&unit);
    while (!at_entry && scopes.count < MAX_SCOPES &&
           find_inner(&scopes, &scopes.items[scopes.count - 1], 0, &scopes.items[scopes.count]))
        scopes.count++;
    int result = visit_all(&scopes);
    debugentry_end();
    return result;
}
