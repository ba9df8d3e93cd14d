/* Looks for variables among the entries of units that are not inside of functions. */
#include "sym/debugglobal.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "sym/debugentry.h"

enum { DEEPEST = DEBUGENTRY_DEEPEST };

/* Names from a unit to something in it. Namespaces without names are passed over, as code does. */
struct path {
    struct text {
        const char *bytes;
        size_t length;
    } steps[DEEPEST];
    size_t count;
};

struct global_search {
    struct path around; /* the function whose code it is */
    struct path wanted;
    Dwarf_Off own; /* the unit of that code */
    bool in_own;   /* it is looked at */
    Dwarf_Die found;
    /* how many of the names around the function the name of what is found begins with; and at least, since its own unit
     * declares one there */
    size_t depth, least;
    bool any, declared;
};

static bool same_text(struct text a, struct text b)
{
    return a.length == b.length && !memcmp(a.bytes, b.bytes, a.length);
}

static void push(struct path *path, const char *bytes, size_t length)
{
    if (path->count < DEEPEST)
        path->steps[path->count++] = (struct text){bytes, length};
}

/* Cuts NAME at each "::" that is not among a template's arguments. */
static void split(struct path *path, const char *name)
{
    int inside = 0;
    const char *start = name;
    for (const char *c = name; *c; c++) {
        inside += (*c == '<') - (*c == '>');
        if (inside <= 0 && c[0] == ':' && c[1] == ':') {
            if (c > start)
                push(path, start, (size_t)(c - start));
            start = c + 2;
            c++;
        }
    }
    push(path, start, strlen(start));
}

static bool has_names(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_module || debugentry_is_structure(tag);
}

/* The namespaces and classes around TARGET, which is what the source has, and not an instance. */
static void find_path(Dwarf_Die *target, struct path *path)
{
    Dwarf_Die parent, entry;
    Dwarf_Off wanted = dwarf_dieoffset(target);
    path->count = 0;
    if (!dwarf_diecu(target, &parent, NULL, NULL))
        return;
    /* A child's own children follow it, before the next one. */
    for (int depth = 0; depth < DEEPEST && !dwarf_child(&parent, &entry); depth++) {
        bool any = false;
        do {
            if (dwarf_dieoffset(&entry) > wanted)
                break;
            parent = entry;
            any = true;
        } while (debugentry_next(&entry));
        if (!any || dwarf_dieoffset(&parent) == wanted || !has_names(dwarf_tag(&parent)))
            return;
        const char *name = dwarf_diename(&parent);
        if (name)
            push(path, name, strlen(name));
    }
}

/* True if PATH and the name LAST are what is wanted, seen from DEPTH names around the function. */
static bool is_meant(const struct global_search *search, const struct path *path, struct text last, size_t *depth)
{
    const struct path *wanted = &search->wanted;
    if (!same_text(last, wanted->steps[wanted->count - 1]) || path->count + 1 < wanted->count)
        return false;
    *depth = path->count + 1 - wanted->count;
    if (*depth > search->around.count)
        return false;
    for (size_t i = 0; i < path->count; i++)
        if (!same_text(path->steps[i], i < *depth ? search->around.steps[i] : wanted->steps[i - *depth]))
            return false;
    return true;
}

/* True if ENTRY, of which ROOT is what the source has, says where it is. A class's declaration has the value that an
 * inline variable begins with, which stays so only of constants. */
static bool says_where(Dwarf_Die *entry, Dwarf_Die *root)
{
    Dwarf_Die type;
    if (dwarf_hasattr(entry, DW_AT_location))
        return true;
    bool constant = debugentry_referred(root, DW_AT_type, &type) && dwarf_tag(&type) == DW_TAG_const_type;
    return dwarf_hasattr(entry, DW_AT_const_value) && (constant || !debugentry_flag(entry, DW_AT_declaration));
}

/* ENTRY, a variable, or a class's static one, of a unit or of a namespace. */
static void look_at(struct global_search *search, Dwarf_Die *entry)
{
    Dwarf_Die root = debugentry_root(*entry);
    const char *name = dwarf_diename(&root);
    struct path path;
    size_t depth;
    if (!name || strncmp(name, search->wanted.steps[search->wanted.count - 1].bytes, strlen(name)) != 0)
        return;
    find_path(&root, &path);
    if (!is_meant(search, &path, (struct text){name, strlen(name)}, &depth))
        return;
    bool defines = says_where(entry, &root), exported = debugentry_flag(&root, DW_AT_external);
    if (!defines && search->in_own) {
        search->least = search->declared && search->least > depth ? search->least : depth;
        search->declared = true;
    }
    if (!defines || (!search->in_own && !exported) || (search->any && depth <= search->depth) ||
        (!search->in_own && depth < search->least))
        return;
    search->found = *entry;
    search->depth = depth;
    search->any = true;
}

static void search_below(struct global_search *search, Dwarf_Die *parent, int depth)
{
    Dwarf_Die entry;
    if (depth == DEEPEST || dwarf_child(parent, &entry))
        return;
    do {
        int tag = dwarf_tag(&entry);
        if (tag == DW_TAG_variable || (tag == DW_TAG_member && debugentry_flag(&entry, DW_AT_declaration)))
            look_at(search, &entry);
        else if (has_names(tag))
            search_below(search, &entry, depth + 1);
    } while (debugentry_next(&entry));
}

/* The unit of the innermost function that has code at ADDRESS, and what is around that. */
static bool begin(struct global_search *search, struct debuginfo *debuginfo, uint64_t address, Dwarf_Die *unit)
{
    uint64_t function;
    Dwarf_Die entry;
    if (!debuginfo_function(debuginfo, address, true, &function) ||
        !dwarf_offdie(debuginfo_dwarf(debuginfo), function, &entry) || !dwarf_diecu(&entry, unit, NULL, NULL))
        return false;
    search->own = dwarf_dieoffset(unit);
    entry = debugentry_root(entry);
    find_path(&entry, &search->around);
    return true;
}

static void fill(struct debuglocal *result, Dwarf_Die *entry)
{
    Dwarf_Die root = debugentry_root(*entry);
    uint32_t type = debugtype_of(entry);
    *result = (struct debuglocal){
        .name = dwarf_diename(&root), .type = type ? type : debugtype_of(&root), .entry = dwarf_dieoffset(entry)};
}

int debugglobal_find(struct debuginfo *debuginfo, uint64_t address, const char *name, struct debuglocal *result,
                     bool *declared)
{
    struct global_search search = {.in_own = true};
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit;
    if (!debugentry_begin())
        return -ELOOP;
    split(&search.wanted, name);
    if (begin(&search, debuginfo, address, &unit)) {
        search_below(&search, &unit, 0);
        search.in_own = false;
        search.any &= search.depth >= search.least;
        while (!search.any && !dwarf_get_units(debuginfo_dwarf(debuginfo), cu, &cu, NULL, NULL, &unit, NULL))
            if (dwarf_dieoffset(&unit) != search.own)
                search_below(&search, &unit, 0);
        if (search.any)
            fill(result, &search.found);
    }
    debugentry_end();
    *declared = search.declared;
    return search.any ? 0 : -ENOENT;
}

struct name_visit {
    void (*visit)(const char *name, void *context);
    void *context;
};

static void visit_names(const struct name_visit *names, Dwarf_Die *parent, int depth)
{
    Dwarf_Die entry;
    if (depth == DEEPEST || dwarf_child(parent, &entry))
        return;
    do {
        const char *name = dwarf_tag(&entry) == DW_TAG_variable ? dwarf_diename(&entry) : NULL;
        if (name)
            names->visit(name, names->context);
        else if (dwarf_tag(&entry) == DW_TAG_namespace)
            visit_names(names, &entry, depth + 1);
    } while (debugentry_next(&entry));
}

void debugglobal_names(struct debuginfo *debuginfo, uint64_t address, void (*visit)(const char *name, void *context),
                       void *context)
{
    struct global_search search = {0};
    Dwarf_Die unit;
    if (!debugentry_begin())
        return;
    if (begin(&search, debuginfo, address, &unit))
        visit_names(&(struct name_visit){visit, context}, &unit, 0);
    debugentry_end();
}
