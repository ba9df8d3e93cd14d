/* Looks for inlined functions in one pass through the units that may have some. */
#include "sym/debuginlined.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "sym/debugentry.h"

enum { MAX_DEPTH = 128, MAX_ORIGINS = 8 };

/* One function of those in question. */
struct wanted {
    Dwarf_Off root;   /* the source's entry */
    const char *name; /* for the linker, by which it is the same in other units; NULL: it is local to its own */
    size_t number;
};

struct inlined_search {
    struct wanted *by_root, *by_name; /* sorted */
    size_t root_count, name_count;
    bool everywhere;  /* all units are to be looked through … */
    Dwarf_Off *units; /* … else these, sorted */
    size_t unit_count;
    debuginlined_visitor *visit;
    void *context;
};

static int compare_roots(const void *a, const void *b)
{
    const struct wanted *one = a, *other = b;
    return (one->root > other->root) - (one->root < other->root);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct wanted *)a)->name, ((const struct wanted *)b)->name);
}

static const struct wanted *find(const struct inlined_search *search, Dwarf_Die *root)
{
    struct wanted key = {.root = dwarf_dieoffset(root)};
    const struct wanted *found =
        bsearch(&key, search->by_root, search->root_count, sizeof *search->by_root, compare_roots);
    if (found || !search->name_count || !(key.name = debugentry_linkage_name(root)))
        return found;
    return bsearch(&key, search->by_name, search->name_count, sizeof *search->by_name, compare_names);
}

/* Where code of ENTRY begins; false: it has none, since it is of no instance or nothing is left of it. */
static bool begin_of(Dwarf_Die *entry, Dwarf_Addr *address)
{
    Dwarf_Addr base, end;
    return dwarf_entrypc(entry, address) == 0 || dwarf_ranges(entry, 0, &base, address, &end) > 0;
}

bool debuginlined_is_part(Dwarf_Die *entry)
{
    Dwarf_Die root = debugentry_root(*entry);
    Dwarf_Word line, file, call_line, call_file;
    return root.cu == entry->cu && debugentry_number(entry, DW_AT_call_line, &call_line) &&
           debugentry_number(entry, DW_AT_call_file, &call_file) && debugentry_number(&root, DW_AT_decl_line, &line) &&
           debugentry_number(&root, DW_AT_decl_file, &file) && line == call_line && file == call_file;
}

static int take(const struct inlined_search *search, Dwarf_Die *entry)
{
    Dwarf_Die root = debugentry_root(*entry);
    const struct wanted *found = find(search, &root);
    Dwarf_Addr address;
    return found && !debuginlined_is_part(entry) && begin_of(entry, &address)
               ? search->visit(found->number, address, dwarf_dieoffset(entry), search->context)
               : 0;
}

static int search_below(const struct inlined_search *search, Dwarf_Die *parent, int depth)
{
    Dwarf_Die entry;
    int result = 0;
    if (depth == MAX_DEPTH || dwarf_child(parent, &entry))
        return 0;
    do {
        int tag = dwarf_tag(&entry);
        if (tag == DW_TAG_inlined_subroutine)
            result = take(search, &entry);
        if (!result && debugentry_holds_functions(tag))
            result = search_below(search, &entry, depth + 1);
    } while (!result && debugentry_next(&entry));
    return result;
}

static int compare_offsets(const void *a, const void *b)
{
    const Dwarf_Off *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

static bool is_to_be_searched(const struct inlined_search *search, Dwarf_Die *unit)
{
    Dwarf_Off key = dwarf_dieoffset(unit);
    return search->everywhere || bsearch(&key, search->units, search->unit_count, sizeof key, compare_offsets);
}

/* --- in which units a function may be inlined --- */

enum reach { NOWHERE, OWN_UNIT, EVERYWHERE };

/* True if compilers inline functions of UNIT into those of others: Rust's, and GCC's with link-time optimisation. */
static bool is_shared(Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    const char *producer = dwarf_attr(unit, DW_AT_producer, &attribute) ? dwarf_formstring(&attribute) : NULL;
    return dwarf_srclang(unit) == DW_LANG_Rust || (producer && strstr(producer, "-flto"));
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* True if two units come from one source file: then clang's link-time optimisation has described, where it has inlined
 * functions of one into another, the one once more. */
static bool has_imported_units(struct debuginfo *debuginfo)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit;
    const char **names = NULL;
    size_t count = 0, capacity = 0;
    bool same = false;
    while (!dwarf_get_units(debuginfo_dwarf(debuginfo), cu, &cu, NULL, NULL, &unit, NULL)) {
        const char *name = dwarf_tag(&unit) == DW_TAG_compile_unit ? dwarf_diename(&unit) : NULL;
        if (name && array_room(&names, count, &capacity, sizeof *names))
            names[count++] = name;
    }
    if (count)
        qsort(names, count, sizeof *names, compare_texts);
    for (size_t i = 1; i < count && !same; i++)
        same = !strcmp(names[i - 1], names[i]);
    free(names);
    return same;
}

/* Where the function of ENTRY, which has code, may be inlined, and in *UNIT its own; IMPORTED: as has_imported_units.
 */
static enum reach reach_of(Dwarf_Die *entry, bool imported, Dwarf_Die *unit)
{
    Dwarf_Die origin = *entry, next;
    Dwarf_Word how;
    bool is_instance = false, declared_inline = false;
    for (int depth = 0; depth < MAX_ORIGINS; depth++) {
        if (debugentry_number(&origin, DW_AT_inline, &how)) {
            is_instance = true;
            declared_inline |= how == DW_INL_declared_inlined || how == DW_INL_declared_not_inlined;
        }
        if (debugentry_referred(&origin, DW_AT_abstract_origin, &next))
            is_instance = true;
        else if (!debugentry_referred(&origin, DW_AT_specification, &next))
            break;
        origin = next;
    }
    if (!dwarf_diecu(&origin, unit, NULL, NULL))
        return NOWHERE;
    if (is_shared(unit) || ((declared_inline || imported) && debugentry_flag(&origin, DW_AT_external)))
        return EVERYWHERE;
    return is_instance ? OWN_UNIT : NOWHERE;
}

/* Fills the lists of SEARCH with those of the COUNT functions at ENTRIES that are inlined. */
static void list(struct inlined_search *search, struct debuginfo *debuginfo, const uint64_t *entries, size_t count)
{
    bool imported = has_imported_units(debuginfo);
    for (size_t i = 0; i < count; i++) {
        Dwarf_Off instance;
        Dwarf_Die entry, unit;
        if (!debuginfo_function(debuginfo, entries[i], false, &instance) ||
            !dwarf_offdie(debuginfo_dwarf(debuginfo), instance, &entry))
            continue;
        Dwarf_Die root = debugentry_root(entry);
        enum reach reach = reach_of(&entry, imported, &unit);
        if (reach == NOWHERE)
            continue;
        search->everywhere |= reach == EVERYWHERE;
        search->units[search->unit_count++] = dwarf_dieoffset(&unit);
        struct wanted wanted = {.root = dwarf_dieoffset(&root), .name = debugentry_linkage_name(&root), .number = i};
        search->by_root[search->root_count++] = wanted;
        if (wanted.name)
            search->by_name[search->name_count++] = wanted;
    }
    qsort(search->by_root, search->root_count, sizeof *search->by_root, compare_roots);
    qsort(search->units, search->unit_count, sizeof *search->units, compare_offsets);
    qsort(search->by_name, search->name_count, sizeof *search->by_name, compare_names);
}

int debuginlined_visit(struct debuginfo *debuginfo, const uint64_t *entries, size_t count, debuginlined_visitor *visit,
                       void *context)
{
    struct inlined_search search = {.visit = visit, .context = context};
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit;
    int result = 0;
    if (!debugentry_begin())
        return -ELOOP;
    search.by_root = calloc(count + 1, sizeof *search.by_root);
    search.by_name = calloc(count + 1, sizeof *search.by_name);
    search.units = calloc(count + 1, sizeof *search.units);
    if (!search.by_root || !search.by_name || !search.units)
        result = -ENOMEM;
    else
        list(&search, debuginfo, entries, count);
    while (!result && search.root_count &&
           !dwarf_get_units(debuginfo_dwarf(debuginfo), cu, &cu, NULL, NULL, &unit, NULL))
        result = is_to_be_searched(&search, &unit) ? search_below(&search, &unit, 0) : 0;
    debugentry_end();
    free(search.units);
    free(search.by_root);
    free(search.by_name);
    return result;
}
