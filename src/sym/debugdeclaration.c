/*
 * Looks names up as C++ does ([basic.lookup]); in other languages there is less of it. Where the debug information does
 * not tell which of several declarations is meant, the name has to say it.
 */
#include "sym/debugdeclaration.h"

#include <dwarf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sym/debugdefinition.h"

enum { DEEPEST = DEBUGENTRY_DEEPEST };

/* A walk through what is inside of some scope. */
struct walk {
    struct debugdeclaration_search *search;
    const struct namepath *path; /* that leads to the scope */
    struct debugdeclaration *result;
    size_t level; /* of using directives that are collected there */
};

static const struct namepath_step *last_name(const struct debugdeclaration_search *search)
{
    return &search->wanted.steps[search->wanted.count - 1];
}

__attribute__((format(printf, 2, 3))) static void set_other(struct debugdeclaration *result, const char *format, ...)
{
    if (result->kind)
        return; /* a variable, or what was found first */
    result->kind = DEBUGDECLARATION_OTHER;
    va_list args;
    va_start(args, format);
    vsnprintf(result->why, sizeof result->why, format, args);
    va_end(args);
}

static void set_no_value(struct debugdeclaration *result, const char *why)
{
    if (result->kind)
        return;
    set_other(result, "%s", why);
    result->kind = DEBUGDECLARATION_NO_VALUE;
}

static void set_variable(struct debugdeclaration *result, Dwarf_Die *entry)
{
    result->kind = DEBUGDECLARATION_VARIABLE; /* which hides a type of its name */
    result->entry = debugentry_root(*entry);
}

/* --- what one entry declares --- */

static void look_at_enum(const struct debugdeclaration_search *search, Dwarf_Die *type, struct debugdeclaration *result)
{
    Dwarf_Die constant;
    if (debugentry_flag(type, DW_AT_enum_class) || dwarf_child(type, &constant))
        return;
    do
        if (namepath_is(last_name(search), dwarf_diename(&constant)))
            set_other(result, "it is a constant of an enum there");
    while (debugentry_next(&constant));
}

static void look_at_member(const struct debugdeclaration_search *search, Dwarf_Die *member, int depth,
                           struct debugdeclaration *result)
{
    Dwarf_Die type, inner;
    const char *name = dwarf_diename(member);
    if (namepath_is(last_name(search), name)) {
        if (debugentry_flag(member, DW_AT_declaration) || debugentry_flag(member, DW_AT_external))
            set_variable(result, member);
        else
            set_other(result, "it is a member of each object there: e.vars.this.%s", name);
    } else if (!name && depth < DEEPEST && debugentry_type(member, &type) &&
               debugentry_is_structure(dwarf_tag(&type)) && !dwarf_child(&type, &inner)) {
        do /* of an unnamed struct or union: its members are the class's */
            if (dwarf_tag(&inner) == DW_TAG_member)
                look_at_member(search, &inner, depth + 1, result);
        while (debugentry_next(&inner));
    }
}

/* A using declaration, or what Fortran imports, perhaps by another name. */
static void look_at_import(const struct debugdeclaration_search *search, Dwarf_Die *import,
                           struct debugdeclaration *result)
{
    Dwarf_Die target;
    const char *name = dwarf_diename(import);
    if (!debugentry_referred(import, DW_AT_import, &target))
        return;
    target = debugentry_root(target);
    if (!namepath_is(last_name(search), name ? name : dwarf_diename(&target)))
        return;
    int tag = dwarf_tag(&target);
    if (tag == DW_TAG_variable || (tag == DW_TAG_member && debugentry_flag(&target, DW_AT_declaration)))
        set_variable(result, &target);
    else
        set_other(result, "it is %s there, which using names", tag == DW_TAG_subprogram ? "a function" : "no variable");
}

/* What ENTRY, inside of a unit, a namespace or a class, says of the name. */
static void look_at(const struct debugdeclaration_search *search, Dwarf_Die *entry, struct debugdeclaration *result)
{
    int tag = dwarf_tag(entry);
    bool named = namepath_is(last_name(search), dwarf_diename(entry));
    if (tag == DW_TAG_member)
        look_at_member(search, entry, 0, result);
    else if (tag == DW_TAG_imported_declaration)
        look_at_import(search, entry, result);
    else if (tag == DW_TAG_variable && named)
        set_variable(result, entry);
    else if (tag == DW_TAG_subprogram && named)
        set_no_value(result, "it is a function there");
    else if ((tag == DW_TAG_template_value_parameter || tag == DW_TAG_template_type_parameter) && named)
        set_other(result, "it is a parameter of the template there");
    else if (named && (tag == DW_TAG_typedef ||
                       (search->cpp && (debugentry_is_structure(tag) || tag == DW_TAG_enumeration_type))))
        set_no_value(result, "it is a type there");
    if (tag == DW_TAG_enumeration_type)
        look_at_enum(search, entry, result);
}

/* --- classes --- */

static void look_in_class(const struct debugdeclaration_search *search, Dwarf_Die class, int depth,
                          struct debugdeclaration *result);

/* The same name in several of them is one that code cannot use. */
static void look_in_bases(const struct debugdeclaration_search *search, Dwarf_Die *class, int depth,
                          struct debugdeclaration *result)
{
    Dwarf_Die entry, base;
    if (dwarf_child(class, &entry))
        return;
    do {
        struct debugdeclaration found = {0};
        if (dwarf_tag(&entry) != DW_TAG_inheritance || !debugentry_type(&entry, &base))
            continue;
        for (int i = 0; i < DEEPEST && dwarf_tag(&base) == DW_TAG_typedef && debugentry_type(&base, &base);)
            i++;
        look_in_class(search, base, depth + 1, &found);
        if (found.kind && !result->kind)
            *result = found;
    } while (debugentry_next(&entry));
}

static void look_in_class(const struct debugdeclaration_search *search, Dwarf_Die class, int depth,
                          struct debugdeclaration *result)
{
    Dwarf_Die entry;
    const char *name = dwarf_diename(&class);
    if (depth == DEEPEST)
        return;
    if (debugentry_flag(&class, DW_AT_declaration) && !debugdefinition_find(&class, &class)) {
        set_other(result, "it may be what class %s has, which this file does not define", name ? name : "that");
        return;
    }
    if (dwarf_child(&class, &entry))
        return;
    do
        look_at(search, &entry, result);
    while (result->kind != DEBUGDECLARATION_VARIABLE && debugentry_next(&entry));
    if (!result->kind)
        look_in_bases(search, &class, depth, result);
}

/* GCC's lambdas have what they have captured in members with other names. */
static void look_at_captured(const struct debugdeclaration_search *search, Dwarf_Die *closure,
                             struct debugdeclaration *result)
{
    Dwarf_Die entry;
    if (dwarf_child(closure, &entry))
        return;
    do {
        const char *name = dwarf_tag(&entry) == DW_TAG_member ? dwarf_diename(&entry) : NULL;
        if (name && !strncmp(name, "__", 2) && namepath_is(last_name(search), name + 2))
            set_other(result, "the lambda has captured it: e.vars.__closure.%s", name);
    } while (debugentry_next(&entry));
}

/* --- namespaces --- */

typedef void visit_scope(struct walk *walk, Dwarf_Die *scope);

/* Visits all places of PARENT where the scope of the path is continued; the first NUMBER steps lead to PARENT. */
static void visit_scopes(struct walk *walk, Dwarf_Die *parent, size_t number, int depth, visit_scope *visit)
{
    Dwarf_Die entry;
    if (number == walk->path->count)
        visit(walk, parent);
    if (depth == DEEPEST || dwarf_child(parent, &entry))
        return;
    do {
        int tag = dwarf_tag(&entry);
        const char *name = dwarf_diename(&entry);
        bool is_namespace = tag == DW_TAG_namespace;
        if (!namepath_has_names(tag))
            continue;
        if (number < walk->path->count && namepath_is(&walk->path->steps[number], name))
            visit_scopes(walk, &entry, number + 1, depth + 1, visit);
        else if (is_namespace && (!name || debugentry_flag(&entry, DW_AT_export_symbols)))
            visit_scopes(walk, &entry, number, depth + 1, visit);
    } while (debugentry_next(&entry));
}

static void look_in_scope(struct walk *walk, Dwarf_Die *scope)
{
    Dwarf_Die entry;
    if (debugentry_is_structure(dwarf_tag(scope))) {
        look_in_class(walk->search, *scope, 0, walk->result);
        return;
    }
    if (walk->result->kind == DEBUGDECLARATION_VARIABLE || dwarf_child(scope, &entry))
        return;
    do
        look_at(walk->search, &entry, walk->result);
    while (walk->result->kind != DEBUGDECLARATION_VARIABLE && debugentry_next(&entry));
}

static void look_in(struct debugdeclaration_search *search, const struct namepath *path,
                    struct debugdeclaration *result)
{
    struct walk walk = {search, path, result, 0};
    visit_scopes(&walk, &search->unit, 0, 0, look_in_scope);
}

/* --- using directives --- */

static void add_using(struct debugdeclaration_search *search, Dwarf_Die *directive, size_t level);

static void collect_usings(struct walk *walk, Dwarf_Die *scope)
{
    Dwarf_Die entry;
    if (dwarf_child(scope, &entry))
        return;
    do
        if (dwarf_tag(&entry) == DW_TAG_imported_module)
            add_using(walk->search, &entry, walk->level);
    while (debugentry_next(&entry));
}

static void collect_usings_in(struct debugdeclaration_search *search, const struct namepath *path, size_t level)
{
    struct walk walk = {search, path, NULL, level};
    visit_scopes(&walk, &search->unit, 0, 0, collect_usings);
}

/* Adds DIRECTIVE, which stands LEVEL names around the function. In C++ the names of the namespace are then those of
 * the innermost one that is around both; and what the namespace uses is used, too. */
static void add_using(struct debugdeclaration_search *search, Dwarf_Die *directive, size_t level)
{
    struct debugdeclaration_using using;
    Dwarf_Die target;
    if (!debugentry_referred(directive, DW_AT_import, &target) || search->using_count == DEBUGDECLARATION_USINGS)
        return;
    const char *name = dwarf_diename(&target);
    namepath_of(&target, &using.path);
    if (!name)
        return; /* an unnamed namespace, which is transparent */
    namepath_push(&using.path, name, strlen(name));
    using.depth = search->cpp ? namepath_common(&search->around, &using.path, level) : level;
    for (size_t i = 0; i < search->using_count; i++) {
        const struct debugdeclaration_using *other = &search->usings[i];
        if (other->depth == using.depth && other->path.count == using.path.count &&
            namepath_common(&other->path, &using.path, using.path.count) == using.path.count)
            return;
    }
    search->usings[search->using_count++] = using;
    collect_usings_in(search, &using.path, level);
}

void debugdeclaration_use(struct debugdeclaration_search *search, Dwarf *dwarf, uint64_t entry)
{
    Dwarf_Die directive;
    if (dwarf_offdie(dwarf, entry, &directive))
        add_using(search, &directive, search->around.count);
}

/* What the namespaces have that are used LEVEL names around the function. */
static void look_in_used(struct debugdeclaration_search *search, size_t level, struct debugdeclaration *result)
{
    for (size_t i = 0; i < search->using_count; i++) {
        struct debugdeclaration found = {0};
        if (search->usings[i].depth != level)
            continue;
        look_in(search, &search->usings[i].path, &found);
        if (!found.kind)
            continue;
        bool same = found.kind == DEBUGDECLARATION_VARIABLE && result->kind == DEBUGDECLARATION_VARIABLE &&
                    dwarf_dieoffset(&found.entry) == dwarf_dieoffset(&result->entry);
        if (!result->kind) {
            *result = found;
        } else if (!same) {
            *result = (struct debugdeclaration){0};
            set_other(result, "there are several by using directives: name the namespace, too");
        }
    }
}

/* --- functions around --- */

static void look_in_function(const struct debugdeclaration_search *search, Dwarf_Die *parent, int depth,
                             struct debugdeclaration *result)
{
    Dwarf_Die entry, own = search->function;
    if (depth == DEEPEST || dwarf_child(parent, &entry))
        return;
    do {
        int tag = dwarf_tag(&entry);
        bool named = namepath_is(last_name(search), dwarf_diename(&entry));
        if (dwarf_dieoffset(&entry) == dwarf_dieoffset(&own))
            continue;
        if (named && (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter))
            set_no_value(result, "it is a variable of the function around");
        else if (tag == DW_TAG_lexical_block || tag == DW_TAG_subprogram || debugentry_is_structure(tag))
            look_in_function(search, &entry, depth + 1, result);
        else
            look_at(search, &entry, result);
    } while (!result->kind && debugentry_next(&entry));
}

/* Where ENTRY is declared, if that is in FILE before LINE; 0: elsewhere. */
static Dwarf_Word line_before(Dwarf_Die *entry, Dwarf_Word file, Dwarf_Word line)
{
    Dwarf_Word other_file, other;
    Dwarf_Attribute attribute; /* a definition may leave the file to what it defines */
    bool known = !dwarf_formudata(dwarf_attr_integrate(entry, DW_AT_decl_file, &attribute), &other_file) &&
                 debugentry_number(entry, DW_AT_decl_line, &other);
    return known && other_file == file && other <= line ? other : 0;
}

/* What begins last before the function, of what shows where classes begin and have ended. */
struct neighbour {
    Dwarf_Word file, line; /* the function's */
    Dwarf_Word begins;
    Dwarf_Die entry;
};

static void find_neighbour(struct neighbour *neighbour, Dwarf_Die *parent, int depth)
{
    Dwarf_Die entry;
    if (depth == DEEPEST || dwarf_child(parent, &entry))
        return;
    do {
        int tag = dwarf_tag(&entry);
        if (tag == DW_TAG_namespace)
            find_neighbour(neighbour, &entry, depth + 1);
        if (tag != DW_TAG_variable && tag != DW_TAG_typedef && !debugentry_is_structure(tag))
            continue;
        Dwarf_Word begins = line_before(&entry, neighbour->file, neighbour->line);
        if (begins <= neighbour->begins)
            continue;
        neighbour->begins = begins;
        neighbour->entry = entry;
    } while (debugentry_next(&entry));
}

/*
 * A friend that is defined inside of a class sees its static members, and nothing tells it from a function that follows
 * the class: true if the wanted name is one of the class's that begins last before the function, and no variable or
 * type shows that the class has ended.
 */
static bool may_be_friends(struct debugdeclaration_search *search)
{
    struct neighbour neighbour = {0};
    struct debugdeclaration found = {0};
    if (!search->cpp || search->around.count ||
        !debugentry_number(&search->function, DW_AT_decl_file, &neighbour.file) ||
        !debugentry_number(&search->function, DW_AT_decl_line, &neighbour.line))
        return false;
    find_neighbour(&neighbour, &search->unit, 0);
    if (neighbour.begins && debugentry_is_structure(dwarf_tag(&neighbour.entry)))
        look_in_class(search, neighbour.entry, 0, &found);
    return found.kind == DEBUGDECLARATION_VARIABLE;
}

/* --- the search --- */

void debugdeclaration_begin(struct debugdeclaration_search *search, Dwarf_Die *function)
{
    search->function = debugentry_root(*function);
    search->cpp = debugentry_is_cpp(&search->unit);
    search->using_count = 0;
    namepath_of(&search->function, &search->around);
    if (!search->around.in_function)
        search->around.outside = search->around.count;
    for (size_t level = 0; level <= search->around.outside; level++) {
        struct namepath scope = search->around;
        scope.count = level;
        collect_usings_in(search, &scope, level);
    }
}

void debugdeclaration_path(const struct debugdeclaration_search *search, size_t level, struct namepath *path)
{
    *path = search->around;
    path->count = level;
    for (size_t i = 0; i + 1 < search->wanted.count; i++)
        namepath_push(path, search->wanted.steps[i].bytes, search->wanted.steps[i].length);
}

/* The wanted name, one alone, LEVEL names around the function. */
static void look_at_level(struct debugdeclaration_search *search, size_t level, struct debugdeclaration *result)
{
    struct namepath scope = search->around;
    Dwarf_Die *class = level && debugentry_is_structure(dwarf_tag(&scope.steps[level - 1].entry))
                           ? &scope.steps[level - 1].entry
                           : NULL;
    if (scope.in_function && level == scope.outside && !search->outside)
        look_in_function(search, &scope.function, 0, result);
    if (result->kind)
        return;
    scope.count = level;
    if (class && !search->outside) {
        look_in_class(search, *class, 0, result);
        if (scope.in_function && level > scope.outside)
            look_at_captured(search, class, result);
    } else if (!class) {
        look_in(search, &scope, result);
        look_in_used(search, level, result);
    }
    if (result->kind == DEBUGDECLARATION_VARIABLE && level == search->around.count && !search->outside && !class &&
        may_be_friends(search)) {
        *result = (struct debugdeclaration){0};
        set_other(result, "it may be a member of the class before, if this is a friend of it: name it with its class, "
                          "or with :: before it");
    }
}

void debugdeclaration_find(struct debugdeclaration_search *search, bool absolute, size_t least,
                           struct debugdeclaration *result)
{
    bool single = search->wanted.count == 1 && !absolute;
    size_t level = absolute ? 0 : single ? search->around.count : search->around.outside;
    *result = (struct debugdeclaration){0};
    for (; !result->kind; level--) {
        struct namepath path;
        debugdeclaration_path(search, level, &path);
        if (single)
            look_at_level(search, level, result);
        else
            look_in(search, &path, result);
        if (level <= least)
            break;
    }
}
