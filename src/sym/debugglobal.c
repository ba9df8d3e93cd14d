/*
 * Looks for variables that are not inside of functions: first by which declaration a name means, from the code outwards
 * ([basic.lookup.unqual] of C++), then for its definition.
 */
#include "sym/debugglobal.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sym/debugdeclaration.h"
#include "sym/namepath.h"

enum { DEEPEST = DEBUGENTRY_DEEPEST };

struct global_search {
    struct debuginfo *debuginfo;
    struct debugdeclaration_search declarations;
    bool absolute;
    size_t least; /* names around the code that a declaration is to have around it, too */
};

static bool is_own(const struct global_search *search, Dwarf_Die *entry)
{
    Dwarf_Die unit, own = search->declarations.unit;
    return dwarf_diecu(entry, &unit, NULL, NULL) && dwarf_dieoffset(&unit) == dwarf_dieoffset(&own);
}

/* --- where a variable is --- */

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

/* What is looked for among all variables: the definition of DECLARED; or, where that is NULL, what is exported. */
struct definition {
    const struct global_search *search;
    Dwarf_Die *declared;
    struct namepath path; /* around DECLARED, or the names before the wanted one */
    const char *name;
    Dwarf_Die found;
    size_t depth; /* of exported ones: how many names around the code that of what is found begins with */
    bool any;
};

/* True if the variable of ROOT is the one that is declared: itself, or in another unit one that both export. */
static bool is_declared_one(const struct definition *definition, Dwarf_Die *root, const struct namepath *path)
{
    Dwarf_Die *declared = definition->declared;
    if (dwarf_dieoffset(root) == dwarf_dieoffset(declared))
        return true;
    bool shared = debugentry_flag(root, DW_AT_external) && debugentry_flag(declared, DW_AT_external);
    return (shared || is_own(definition->search, root)) &&
           namepath_leads_to(path, &definition->path, definition->path.count);
}

/* True if ROOT in PATH is meant by the names that are wanted, seen from *DEPTH names around the code. */
static bool is_exported_one(const struct definition *definition, Dwarf_Die *root, const struct namepath *path,
                            size_t *depth)
{
    const struct global_search *search = definition->search;
    const struct namepath *around = &search->declarations.around;
    struct namepath whole;
    if (!debugentry_flag(root, DW_AT_external))
        return false;
    for (size_t level = search->absolute ? 0 : around->outside;; level--) {
        debugdeclaration_path(&search->declarations, level, &whole);
        if (namepath_leads_to(path, &whole, whole.count)) {
            *depth = level;
            return true;
        }
        if (level <= search->least)
            return false;
    }
}

/* ENTRY, a variable, or a class's static one, of a unit or of a namespace. */
static void look_at(struct definition *definition, Dwarf_Die *entry)
{
    Dwarf_Die root = debugentry_root(*entry);
    const char *name = dwarf_diename(&root);
    struct namepath path;
    size_t depth = 0;
    if (!name || strcmp(name, definition->name) != 0 || !says_where(entry, &root))
        return;
    namepath_of(&root, &path);
    bool meant = definition->declared ? is_declared_one(definition, &root, &path)
                                      : is_exported_one(definition, &root, &path, &depth);
    if (!meant || (definition->any && depth <= definition->depth))
        return;
    definition->found = *entry;
    definition->depth = depth;
    definition->any = true;
}

static void look_below(struct definition *definition, Dwarf_Die *parent, int depth)
{
    Dwarf_Die entry;
    if (depth == DEEPEST || dwarf_child(parent, &entry))
        return;
    do {
        int tag = dwarf_tag(&entry);
        if (tag == DW_TAG_variable || (tag == DW_TAG_member && debugentry_flag(&entry, DW_AT_declaration)))
            look_at(definition, &entry);
        else if (namepath_has_names(tag))
            look_below(definition, &entry, depth + 1);
    } while (debugentry_next(&entry));
}

/* Its own unit's before others'; with link-time optimisation all definitions are in another one. */
static void find_definition(struct definition *definition)
{
    const struct global_search *search = definition->search;
    Dwarf_Die own = search->declarations.unit, unit;
    Dwarf_CU *cu = NULL;
    look_below(definition, &own, 0);
    while (!(definition->any && definition->declared) &&
           !dwarf_get_units(debuginfo_dwarf(search->debuginfo), cu, &cu, NULL, NULL, &unit, NULL))
        if (dwarf_dieoffset(&unit) != dwarf_dieoffset(&own))
            look_below(definition, &unit, 0);
}

static void fill(struct debuglocal *result, Dwarf_Die *entry)
{
    Dwarf_Die root = debugentry_root(*entry);
    uint32_t type = debugtype_of(entry);
    *result = (struct debuglocal){
        .name = dwarf_diename(&root), .type = type ? type : debugtype_of(&root), .entry = dwarf_dieoffset(entry)};
}

/* Of the variable that DECLARED declares where its definition is, or why there is none. */
static void define(const struct global_search *search, Dwarf_Die *declared, struct debugglobal *result)
{
    Dwarf_Die root = debugentry_root(*declared);
    const char *name = dwarf_diename(&root);
    if (!name)
        return;
    struct definition definition = {.search = search, .declared = &root, .name = name};
    namepath_of(&root, &definition.path);
    find_definition(&definition);
    bool elsewhere = debugentry_flag(&root, DW_AT_external) && debugentry_flag(&root, DW_AT_declaration);
    result->kind = definition.any ? DEBUGGLOBAL_VARIABLE : elsewhere ? DEBUGGLOBAL_DECLARED : DEBUGGLOBAL_LEFT_OUT;
    if (definition.any)
        fill(&result->variable, &definition.found);
}

/* --- what a name means --- */

/* In Rust a name of a module around its own is to be imported, and what is imported is not told. */
static size_t least_level(const struct global_search *search)
{
    const struct namepath *around = &search->declarations.around;
    size_t level = around->outside;
    Dwarf_Die unit = search->declarations.unit;
    if (dwarf_srclang(&unit) != DW_LANG_Rust || search->declarations.wanted.count > 1 || search->absolute)
        return 0;
    while (level && (*around->steps[level - 1].bytes == '{' || /* an impl */
                     debugentry_is_structure(dwarf_tag((Dwarf_Die *)&around->steps[level - 1].entry))))
        level--;
    return level;
}

/* The unit of CODE, and what is around it there; NAME is what is wanted. */
static bool begin(struct global_search *search, struct debuginfo *debuginfo, const struct debugglobal_code *code,
                  const char *name)
{
    uint64_t function;
    Dwarf_Die entry, origin;
    search->debuginfo = debuginfo;
    search->declarations.outside = code->outside;
    namepath_split(name, &search->declarations.wanted, &search->absolute);
    if (!debuginfo_function(debuginfo, code->address, code->inlined, &function) ||
        !dwarf_offdie(debuginfo_dwarf(debuginfo), function, &entry))
        return false;
    /* An instance may be in another unit than what it is an instance of. */
    for (int depth = 0; depth < DEEPEST && debugentry_referred(&entry, DW_AT_abstract_origin, &origin); depth++)
        entry = origin;
    if (!dwarf_diecu(&entry, &search->declarations.unit, NULL, NULL))
        return false;
    debugdeclaration_begin(&search->declarations, &entry);
    search->least = least_level(search);
    for (size_t i = 0; i < code->using_count; i++)
        debugdeclaration_use(&search->declarations, debuginfo_dwarf(debuginfo), code->usings[i]);
    return true;
}

static void resolve(struct global_search *search, struct debugglobal *result)
{
    struct debugdeclaration found = {0};
    debugdeclaration_find(&search->declarations, search->absolute, search->least, &found);
    if (found.kind == DEBUGDECLARATION_VARIABLE) {
        define(search, &found.entry, result);
    } else if (found.kind) {
        result->kind = found.kind == DEBUGDECLARATION_NO_VALUE ? DEBUGGLOBAL_NO_VALUE : DEBUGGLOBAL_OTHER;
        snprintf(result->why, sizeof result->why, "%s", found.why);
    }
}

int debugglobal_find(struct debuginfo *debuginfo, const struct debugglobal_code *code, const char *name,
                     struct debugglobal *result)
{
    struct global_search search = {0};
    *result = (struct debugglobal){0};
    if (!debugentry_begin())
        return -ELOOP;
    if (begin(&search, debuginfo, code, name))
        resolve(&search, result);
    debugentry_end();
    return 0;
}

int debugglobal_find_other(struct debuginfo *debuginfo, const struct debugglobal_code *code, const char *name,
                           struct debugglobal *result)
{
    struct global_search search = {0};
    *result = (struct debugglobal){0};
    if (!debugentry_begin())
        return -ELOOP;
    if (begin(&search, debuginfo, code, name)) {
        const struct namepath *wanted = &search.declarations.wanted;
        struct definition definition = {.search = &search, .name = wanted->steps[wanted->count - 1].bytes};
        find_definition(&definition);
        if (definition.any) {
            result->kind = DEBUGGLOBAL_VARIABLE;
            fill(&result->variable, &definition.found);
        }
    }
    debugentry_end();
    return 0;
}

int debugglobal_define(struct debuginfo *debuginfo, const struct debugglobal_code *code, uint64_t entry,
                       struct debugglobal *result)
{
    struct global_search search = {0};
    Dwarf_Die declared;
    *result = (struct debugglobal){0};
    if (!debugentry_begin())
        return -ELOOP;
    if (begin(&search, debuginfo, code, "") && dwarf_offdie(debuginfo_dwarf(debuginfo), entry, &declared))
        define(&search, &declared, result);
    debugentry_end();
    return 0;
}

/* --- names to choose from --- */

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

void debugglobal_names(struct debuginfo *debuginfo, const struct debugglobal_code *code,
                       void (*visit)(const char *name, void *context), void *context)
{
    struct global_search search = {0};
    if (!debugentry_begin())
        return;
    if (begin(&search, debuginfo, code, ""))
        visit_names(&(struct name_visit){visit, context}, &search.declarations.unit, 0);
    debugentry_end();
}
