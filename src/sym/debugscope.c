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
    for (int depth = 0; depth < MAX_ORIGINS; depth++) {
        Dwarf_Die origin;
        if (dwarf_hasattr(&at, DW_AT_declaration)) /* of another scope's */
            return 0;
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
    return local->name && *local->name ? scopes->visit(local, scopes->context) : 0;
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
    if (!dwarf_child(scope, &entry))
        do {
            bool any;
            if (is_variable(&entry))
                result = take(scopes, &entry, local);
            else if (dwarf_tag(&entry) == DW_TAG_lexical_block && !covers(scopes, &entry, &any) && !any)
                result = visit_scope(scopes, &entry, depth + 1, local);
        } while (!result && debugentry_next(&entry));
    /* Of an instance the compiler may leave out what it has optimised away. */
    if (!result && debugentry_referred(scope, DW_AT_abstract_origin, &origin) && !dwarf_child(&origin, &entry))
        do {
            if (is_variable(&entry) && !has_instance(scope, &entry))
                result = take(scopes, &entry, local);
        } while (!result && debugentry_next(&entry));
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

int debugscope_visit(struct debuginfo *debuginfo, uint64_t address,
                     int (*visit)(const struct debuglocal *local, void *context), void *context)
{
    struct scopes scopes = {
        .address = address, .count = 1, .ranges_left = MAX_RANGES, .visit = visit, .context = context};
    uint64_t function;
    if (!debuginfo_function(debuginfo, address, false, &function) ||
        !dwarf_offdie(debuginfo_dwarf(debuginfo), function, &scopes.items[0]))
        return -ENOENT;
    if (!debugentry_begin())
        return -ELOOP;
    while (scopes.count < MAX_SCOPES &&
           find_inner(&scopes, &scopes.items[scopes.count - 1], 0, &scopes.items[scopes.count]))
        scopes.count++;
    int result = visit_all(&scopes);
    debugentry_end();
    return result;
}
