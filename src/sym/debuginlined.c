/* Looks for inlined functions in one pass through all entries of all units. */
#include "sym/debuginlined.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/debugentry.h"

enum { MAX_DEPTH = 128 };

/* One function of those in question. */
struct wanted {
    Dwarf_Off root;   /* the source's entry */
    const char *name; /* for the linker, by which it is the same in other units; NULL: it is local to its own */
    size_t number;
};

struct inlined_search {
    struct wanted *by_root, *by_name; /* sorted */
    size_t root_count, name_count;
    int (*visit)(size_t number, uint64_t address, void *context);
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
               ? search->visit(found->number, address, search->context)
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
        switch (tag) {
        case DW_TAG_subprogram:
        case DW_TAG_inlined_subroutine:
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
        case DW_TAG_namespace:
        case DW_TAG_module:
            if (!result)
                result = search_below(search, &entry, depth + 1);
            break;
        default:
            break;
        }
    } while (!result && debugentry_next(&entry));
    return result;
}

/* True if the compiler has inlined the function ROOT anywhere. */
static bool is_inlined(Dwarf_Die *root)
{
    Dwarf_Word how;
    return debugentry_number(root, DW_AT_inline, &how) && (how == DW_INL_inlined || how == DW_INL_declared_inlined);
}

/* Fills the lists of SEARCH with those of the COUNT functions at ENTRIES that are inlined. */
static void list(struct inlined_search *search, struct debuginfo *debuginfo, const uint64_t *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Dwarf_Off instance;
        Dwarf_Die entry;
        if (!debuginfo_function(debuginfo, entries[i], false, &instance) ||
            !dwarf_offdie(debuginfo_dwarf(debuginfo), instance, &entry))
            continue;
        Dwarf_Die root = debugentry_root(entry), origin;
        /* A method's definition stands between: it is what says so. */
        bool inlined =
            is_inlined(&root) || (debugentry_referred(&entry, DW_AT_abstract_origin, &origin) && is_inlined(&origin));
        if (!inlined)
            continue;
        struct wanted wanted = {.root = dwarf_dieoffset(&root), .name = debugentry_linkage_name(&root), .number = i};
        search->by_root[search->root_count++] = wanted;
        if (wanted.name)
            search->by_name[search->name_count++] = wanted;
    }
    qsort(search->by_root, search->root_count, sizeof *search->by_root, compare_roots);
    qsort(search->by_name, search->name_count, sizeof *search->by_name, compare_names);
}

int debuginlined_visit(struct debuginfo *debuginfo, const uint64_t *entries, size_t count,
                       int (*visit)(size_t number, uint64_t address, void *context), void *context)
{
    struct inlined_search search = {.visit = visit, .context = context};
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit;
    int result = 0;
    if (!debugentry_begin())
        return -ELOOP;
    search.by_root = calloc(count + 1, sizeof *search.by_root);
    search.by_name = calloc(count + 1, sizeof *search.by_name);
    if (!search.by_root || !search.by_name)
        result = -ENOMEM;
    else
        list(&search, debuginfo, entries, count);
    while (!result && search.root_count &&
           !dwarf_get_units(debuginfo_dwarf(debuginfo), cu, &cu, NULL, NULL, &unit, NULL))
        result = search_below(&search, &unit, 0);
    debugentry_end();
    free(search.by_root);
    free(search.by_name);
    return result;
}
