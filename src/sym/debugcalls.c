/* Looks for the calls of one function among all entries of its unit, and of the others where they may call it. */
#include "sym/debugcalls.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "sym/debugentry.h"

enum { MAX_DEPTH = 128 };

/* A jump from one function to another in place of a call and a return; TO is 0 where that is not said. */
struct jump {
    Dwarf_Off from, to;
};

struct call_search {
    Dwarf *dwarf;
    Dwarf_Off wanted;        /* the source's entry of the function … */
    const char *name;        /* … and its name where other units may call it */
    Dwarf_Die caller;        /* the function that is looked at */
    struct debugcall *calls; /* of the one wanted */
    size_t count, capacity;
    struct jump *jumps;
    size_t jump_count, jump_capacity;
    bool exhausted;
};

/* True if ENTRY, a root, is the function that is looked for, perhaps as another unit declares it. */
static bool is_wanted(const struct call_search *search, Dwarf_Die *entry)
{
    if (dwarf_dieoffset(entry) == search->wanted)
        return true;
    const char *name = search->name ? debugentry_linkage_name(entry) : NULL;
    return name && !strcmp(name, search->name);
}

/* An unknown target is 0, the function looked for always the same. */
static Dwarf_Off key_of(const struct call_search *search, Dwarf_Die *entry)
{
    return is_wanted(search, entry) ? search->wanted : dwarf_dieoffset(entry);
}

static void take_call(struct call_search *search, Dwarf_Die *entry)
{
    Dwarf_Die origin, caller = debugentry_root(search->caller);
    Dwarf_Attribute attribute;
    Dwarf_Addr returned;
    bool known = debugentry_referred(entry, DW_AT_call_origin, &origin) ||
                 debugentry_referred(entry, DW_AT_abstract_origin, &origin);
    if (known)
        origin = debugentry_root(origin);
    if (debugentry_flag(entry, DW_AT_call_tail_call) || debugentry_flag(entry, DW_AT_GNU_tail_call)) {
        if (array_room(&search->jumps, search->jump_count, &search->jump_capacity, sizeof *search->jumps))
            search->jumps[search->jump_count++] =
                (struct jump){key_of(search, &caller), known ? key_of(search, &origin) : 0};
        else
            search->exhausted = true;
        return;
    }
    if (!known || !is_wanted(search, &origin) ||
        (!dwarf_attr(entry, DW_AT_call_return_pc, &attribute) && !dwarf_attr(entry, DW_AT_low_pc, &attribute)) ||
        dwarf_formaddr(&attribute, &returned))
        return;
    if (array_room(&search->calls, search->count, &search->capacity, sizeof *search->calls))
        search->calls[search->count++] =
            (struct debugcall){dwarf_dieoffset(entry), dwarf_dieoffset(&search->caller), returned};
    else
        search->exhausted = true;
}

static void search_below(struct call_search *search, Dwarf_Die *parent, int depth)
{
    Dwarf_Die entry;
    if (depth == MAX_DEPTH || search->exhausted || dwarf_child(parent, &entry))
        return;
    do {
        Dwarf_Die outer = search->caller;
        switch (dwarf_tag(&entry)) {
        case DW_TAG_call_site:
        case DW_TAG_GNU_call_site:
            take_call(search, &entry);
            break;
        case DW_TAG_subprogram:
            search->caller = entry;
            search_below(search, &entry, depth + 1);
            search->caller = outer;
            break;
        case DW_TAG_inlined_subroutine:
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
        case DW_TAG_namespace:
            search_below(search, &entry, depth + 1);
            break;
        default:
            break;
        }
    } while (debugentry_next(&entry));
}

/*
 * True if the function may jump to where it begins, directly or by others to which it jumps: then the call that it
 * returns to does not say with what it was entered last.
 */
static bool comes_again(const struct call_search *search)
{
    size_t count = search->jump_count, waiting = 0;
    Dwarf_Off *reached = malloc((count + 1) * sizeof *reached); /* functions, of which each edge adds one at most */
    bool *taken = calloc(count + 1, sizeof *taken), again = !reached || !taken;
    if (!again)
        reached[waiting++] = search->wanted;
    while (waiting && !again) {
        Dwarf_Off from = reached[--waiting];
        for (size_t i = 0; i < count && !again; i++) {
            if (taken[i] || search->jumps[i].from != from)
                continue;
            taken[i] = true;
            reached[waiting++] = search->jumps[i].to;
            again = !search->jumps[i].to || search->jumps[i].to == search->wanted;
        }
    }
    free(reached);
    free(taken);
    return again;
}

static void search_units(struct call_search *search, Dwarf_Die *own)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit;
    while (!dwarf_get_units(search->dwarf, cu, &cu, NULL, NULL, &unit, NULL))
        if (search->name || dwarf_dieoffset(&unit) == dwarf_dieoffset(own))
            search_below(search, &unit, 0);
}

int debugcalls_visit(struct debuginfo *debuginfo, uint64_t function,
                     int (*visit)(const struct debugcall *call, void *context), void *context)
{
    struct call_search search = {.dwarf = debuginfo_dwarf(debuginfo)};
    Dwarf_Die entry, own;
    int result = 0;
    if (!dwarf_offdie(search.dwarf, function, &entry) || !dwarf_diecu(&entry, &own, NULL, NULL))
        return -ENOENT;
    if (!debugentry_begin())
        return -ELOOP;
    entry = debugentry_root(entry);
    search.wanted = dwarf_dieoffset(&entry);
    search.name = debugentry_linkage_name(&entry);
    search_units(&search, &own);
    debugentry_end();
    if (search.exhausted)
        result = -ENOMEM;
    else if (search.count && comes_again(&search))
        result = -EMLINK;
    for (size_t i = 0; i < search.count && !result; i++)
        result = visit(&search.calls[i], context);
    free(search.calls);
    free(search.jumps);
    return result;
}

/* True if ENTRY, an argument of a call, is passed in the register REG. */
static bool is_in_register(Dwarf_Die *entry, unsigned reg)
{
    Dwarf_Attribute attribute;
    Dwarf_Block block;
    if (!dwarf_attr(entry, DW_AT_location, &attribute) || dwarf_formblock(&attribute, &block))
        return false;
    struct bytes bytes = bytes_of(block.data, block.length);
    uint64_t operation = bytes_unsigned(&bytes, 1);
    uint64_t found = operation == DW_OP_regx ? bytes_uleb(&bytes) : operation - DW_OP_reg0;
    return !bytes.failed && !bytes_left(&bytes) && found == reg;
}

int debugcall_passes(struct debuginfo *debuginfo, const struct debugcall *call, unsigned reg, struct location *result,
                     struct location_number *number)
{
    Dwarf_Die site, entry;
    if (!dwarf_offdie(debuginfo_dwarf(debuginfo), call->entry, &site) || dwarf_child(&site, &entry))
        return -ENODATA;
    for (int left = UINT8_MAX; left; left--) {
        int tag = dwarf_tag(&entry);
        unsigned attribute = tag == DW_TAG_call_site_parameter ? DW_AT_call_value : DW_AT_GNU_call_site_value;
        if ((tag == DW_TAG_call_site_parameter || tag == DW_TAG_GNU_call_site_parameter) && is_in_register(&entry, reg))
            return location_value(debuginfo, dwarf_dieoffset(&entry), attribute, call->caller, call->returned - 1,
                                  result, number);
        if (dwarf_siblingof(&entry, &entry))
            break;
    }
    return -ENODATA;
}
