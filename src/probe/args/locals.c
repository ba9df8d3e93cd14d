/* The variables where a probe stands, for e.vars.NAME. */
#include "probe/args/locals.h"

#include <errno.h>
#include <string.h>

#include "base/suggest.h"
#include "probe/args/global_place.h"
#include "probe/args/local_lines.h"
#include "probe/args/local_place.h"
#include "probe/args/parameters.h"
#include "probe/module/debug.h"
#include "sym/debugglobal.h"
#include "sym/debuglines.h"

enum { MAX_SITES_OF_LOCALS = 64, MAX_LOCALS = 1024 };

static const char purpose[] = "by which its variables have names";

/* What is found at one site. */
struct locals {
    struct local_context context;
    const struct site *site;
    const char *name; /* only those of that name; NULL: all */
    struct argument *items;
    uint64_t *entries; /* where in .debug_info each says where it is */
    uint64_t function; /* of the last one */
    size_t count;
    uint64_t inner;   /* the function whose code it is, the innermost one */
    bool of_callers;  /* those of the functions that it is inlined into are meant, else its own */
    bool outside;     /* the name is declared there as one outside of functions … */
    uint64_t alias;   /* … or as another name of what this entry declares */
    uint64_t *usings; /* entries of the using directives that are in effect */
    size_t using_count;
    struct debuglocal first;       /* that was found of the name */
    const struct argument *passed; /* of a function's entry: its parameters there */
    size_t passed_count;
};

static const struct argument *find_named(const struct argument *items, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (items[i].name && !strcmp(items[i].name, name))
            return &items[i];
    return NULL;
}

static void add(struct locals *locals, const struct argument *item, uint64_t entry)
{
    locals->items = arena_grow(locals->context.arena, locals->items, locals->count, sizeof *locals->items);
    locals->entries = arena_grow(locals->context.arena, locals->entries, locals->count, sizeof *locals->entries);
    locals->entries[locals->count] = entry;
    locals->items[locals->count++] = *item;
}

/* LOCAL as a handler finds it; what is no variable is nowhere. */
static struct argument place_of(struct locals *locals, const struct debuglocal *local, const char *part)
{
    static const char *const instead[] = {
        [DEBUGLOCAL_OUTSIDE] = "it is a variable outside of functions there",
        [DEBUGLOCAL_ALIAS] = "it is what using names there",
        [DEBUGLOCAL_CONSTANT] = "it is a constant of an enum there",
        [DEBUGLOCAL_FUNCTION] = "it is a function there",
        [DEBUGLOCAL_TYPE] = "it is a type there",
        [DEBUGLOCAL_TEMPLATE_PARAMETER] = "it is a parameter of the template there",
    };
    const struct argument *passed =
        local->parameter && !local->inlined ? find_named(locals->passed, locals->passed_count, local->name) : NULL;
    if (local->kind != DEBUGLOCAL_VARIABLE)
        return (struct argument){.name = arena_string(locals->context.arena, local->name, strlen(local->name)),
                                 .place = ARGUMENT_NOWHERE,
                                 .type = instead[local->kind]};
    return passed ? *passed : local_place(&locals->context, local, part);
}

static void add_using(struct locals *locals, uint64_t entry)
{
    locals->usings = arena_grow(locals->context.arena, locals->usings, locals->using_count, sizeof *locals->usings);
    locals->usings[locals->using_count++] = entry;
}

static bool is_static(const struct locals *locals, const struct debuglocal *local)
{
    uint64_t address;
    return local->kind == DEBUGLOCAL_VARIABLE && local->entry && global_address(&locals->context, local, &address);
}

static bool is_by_clang(const struct locals *locals)
{
    return locals->context.function.compiler == COMPILER_CLANG;
}

static void refuse_ambiguous(struct locals *locals)
{
    locals->items[0].place = ARGUMENT_NOWHERE;
    locals->items[0].parts = false;
    locals->items[0].type = "the source has several of that name, and the debug information does not tell which is "
                            "meant here";
}

/*
 * A scope has two of a name where compilers have put what blocks have into the function around: clang all static
 * variables, so that such a one may mean less than the function, and be what the name means in a block that has
 * another.
 */
static void compare_with_first(struct locals *locals, const struct debuglocal *local)
{
    const struct debuglocal *first = &locals->first;
    size_t length = strcspn(locals->name, ".[");
    if (local->kind == DEBUGLOCAL_USING || strncmp(local->name, locals->name, length) != 0 || local->name[length] ||
        local->declared == first->declared || first->kind != DEBUGLOCAL_VARIABLE)
        return;
    bool beside = local->kind == DEBUGLOCAL_VARIABLE && local->scope == first->scope;
    if (beside || (is_by_clang(locals) && is_static(locals, local)))
        refuse_ambiguous(locals);
}

/* The first of a name is what it means: scopes come from inside. */
static int take(const struct debuglocal *local, void *context)
{
    struct locals *locals = context;
    bool own = local->function == locals->inner;
    size_t length = locals->name ? strcspn(locals->name, ".[") : 0;
    if (local->kind == DEBUGLOCAL_USING) {
        if (own && !locals->of_callers && locals->using_count < MAX_LOCALS)
            add_using(locals, local->entry);
        return 0;
    }
    if (locals->name && locals->count && own && !locals->of_callers) {
        compare_with_first(locals, local);
        return 0;
    }
    if ((locals->name &&
         (own == locals->of_callers || strncmp(local->name, locals->name, length) != 0 || local->name[length])) ||
        find_named(locals->items, locals->count, local->name))
        return 0;
    locals->function = local->function;
    if (locals->name && local->kind == DEBUGLOCAL_OUTSIDE) {
        locals->outside = true;
        return 1;
    }
    if (locals->name && local->kind == DEBUGLOCAL_ALIAS) {
        locals->alias = local->entry;
        return 1;
    }
    struct argument item = place_of(locals, local, locals->name ? locals->name + length : "");
    if (!locals->count)
        locals->first = *local;
    add(locals, &item, local->entry);
    return (locals->name && locals->of_callers) || locals->count == MAX_LOCALS;
}

/*
 * An instruction that an optimiser has moved into a line may be of another scope than the line's other code, so that a
 * name which the source shadows there would mean the outer variable.
 */
struct shadow_search {
    struct locals *locals;
    unsigned line; /* of the probe's instruction … */
    uint64_t function;
    uint64_t others[16]; /* … and where else the same function has code of it */
    size_t count;
};

static int find_line_of(const struct debugline *line, void *context)
{
    struct shadow_search *search = context;
    if (line->address == search->locals->context.address && (line->statement || !search->line)) {
        search->line = line->line;
        search->function = line->function;
    }
    return 0;
}

static int find_others(const struct debugline *line, void *context)
{
    struct shadow_search *search = context;
    if (line->line == search->line && line->function == search->function &&
        line->address != search->locals->context.address)
        search->others[search->count++] = line->address;
    return search->count == sizeof search->others / sizeof *search->others;
}

struct names_seen {
    struct locals *locals;
    bool seen[MAX_LOCALS]; /* there, of the same names */
    unsigned line;
};

static int compare_meaning(const struct debuglocal *local, void *context)
{
    struct names_seen *names = context;
    struct locals *locals = names->locals;
    const struct argument *item = find_named(locals->items, locals->count, local->name);
    size_t number = item ? (size_t)(item - locals->items) : 0;
    if (!item || names->seen[number])
        return 0;
    names->seen[number] = true;
    if (local->entry == locals->entries[number] || !local_is_there(item))
        return 0;
    locals->items[number].place = ARGUMENT_NOWHERE;
    locals->items[number].parts = false;
    locals->items[number].type = arena_format(
        locals->context.arena,
        "the compiler has moved code of line %u here from another scope, in which '%s' is another variable",
        names->line, local->name);
    return 0;
}

static void refuse_shadowed(struct locals *locals)
{
    struct debuginfo *debuginfo = locals->context.debuginfo;
    struct shadow_search search = {.locals = locals};
    debuglines_visit(debuginfo, locals->context.address, find_line_of, &search);
    if (search.line)
        debuglines_visit(debuginfo, locals->context.address, find_others, &search);
    for (size_t i = 0; i < search.count; i++) {
        struct names_seen names = {.locals = locals, .line = search.line};
        debugscope_visit(debuginfo, search.others[i], false, compare_meaning, &names);
    }
}

static const char *text_of(const struct site *site, struct arena *arena)
{
    unsigned long long inside = site->inside + site->slid;
    return inside ? arena_format(arena, "%s+%#llx", site->function, inside) : site->function;
}

/* At a function's entry parameters are where they are passed, which places in the frame do not tell. */
static void find_passed(struct locals *locals)
{
    struct sites one = {.items = (struct site *)locals->site, .count = 1};
    struct error ignored = {0};
    if (!locals->site->inside &&
        parameters_find(&one, false, locals->context.arena, &locals->passed, &locals->passed_count, &ignored))
        locals->passed_count = 0;
}

static void offer_name(const char *name, void *context)
{
    suggest_offer(context, name, strlen(name));
}

static struct debugglobal_code code_of(const struct locals *locals)
{
    return (struct debugglobal_code){.address = locals->context.address,
                                     .inlined = !locals->context.at_entry,
                                     .outside = locals->outside,
                                     .usings = locals->usings,
                                     .using_count = locals->using_count};
}

/* Why the variable of the name is not there, and where it is. */
static int explain(struct locals *locals, struct error *err)
{
    const char *where = text_of(locals->site, locals->context.arena), *name = locals->name;
    if (!locals->count)
        locals->function = locals->inner;
    const char *lines = local_lines(&locals->context, name, locals->function);
    struct debugglobal_code code = code_of(locals);
    struct suggest suggest;
    if (locals->count)
        return error_set(err, -ENODATA, "the variable '%s' cannot be read at %s: %s%s%s", name, where,
                         locals->items[0].type, *lines ? "; " : "", lines);
    if (*lines)
        return error_set(err, -ENOENT, "the source has no variable '%s' at %s: %s", name, where, lines);
    const char *list = "";
    suggest_init(&suggest, name);
    locals->name = NULL;
    debugscope_visit(locals->context.debuginfo, locals->context.address, locals->context.at_entry, take, locals);
    for (size_t i = 0; i < locals->count; i++) {
        if (locals->items[i].place == ARGUMENT_NOWHERE)
            continue;
        suggest_offer(&suggest, locals->items[i].name, strlen(locals->items[i].name));
        list = arena_format(locals->context.arena, "%s%s%s", list, *list ? ", " : "; it has ", locals->items[i].name);
    }
    debugglobal_names(locals->context.debuginfo, &code, offer_name, &suggest);
    return error_set(err, -ENOENT, "%s has no variable '%s'%s", where, name,
                     suggest.count ? suggest_text(&suggest) : list);
}

/*
 * What the name means that is none of the function's own: by what is declared around the function; else, or where that
 * is a function or a type, since a name that the code itself does not use may be meant, of the functions that it is
 * inlined into, or of other units.
 */
static int find_around(struct locals *locals, const struct binary *binary)
{
    struct local_context *context = &locals->context;
    struct debugglobal_code code = code_of(locals);
    struct argument global;
    int result = 0;
    bool has_value = true;
    bool found =
        global_place(context, binary, &code, GLOBAL_DECLARED, locals->name, locals->alias, &global, &has_value);
    if ((!found || !has_value) && !context->at_entry && !locals->outside) {
        locals->of_callers = true;
        result = debugscope_visit(context->debuginfo, context->address, false, take, locals);
        locals->of_callers = false;
    }
    if (!found && !locals->count)
        found = global_place(context, binary, &code, GLOBAL_EXPORTED, locals->name, 0, &global, &has_value);
    if (found && !locals->count) {
        add(locals, &global, 0);
        locals->function = locals->inner;
    }
    return result;
}

/* True if the unit declares what the name would mean if the function had none. */
static bool is_declared_around(struct locals *locals)
{
    struct debugglobal_code code = code_of(locals);
    struct debugglobal global;
    size_t length = strcspn(locals->name, ".[");
    return !debugglobal_find(locals->context.debuginfo, &code,
                             arena_string(locals->context.arena, locals->name, length), &global) &&
           global.kind != DEBUGGLOBAL_NONE;
}

static int damaged(const struct locals *locals, struct error *err)
{
    return error_set(err, -EINVAL, "%s: the debug information of %s is damaged", locals->site->function,
                     locals->site->module);
}

/* Opens what is asked in the search LOCALS. */
static int begin(struct locals *locals, const struct binary *binary, struct error *err)
{
    struct local_context *context = &locals->context;
    const struct site *site = locals->site;
    int result = debug_keep(binary, site->function, purpose, &context->debuginfo, err);
    if (result)
        return result;
    context->address = site->address;
    context->at_entry = !site->inside && !site->of_line;
    if (debugfunction_at(context->debuginfo, site->address, &context->function))
        return debug_undescribed(context->debuginfo, site->address, text_of(site, context->arena), site->module,
                                 "this code", err);
    context->has_thread_block = binary_thread_block(binary, &context->thread_block);
    context->prologue_end = debuglines_prologue_end(context->debuginfo, context->function.address);
    find_passed(locals);
    debuginfo_function(context->debuginfo, context->address, !context->at_entry, &locals->inner);
    return 0;
}

/* Finds what the name means, or all names where there is none. */
static int find_in(struct locals *locals, const struct binary *binary)
{
    struct local_context *context = &locals->context;
    int result = debugscope_visit(context->debuginfo, context->address, context->at_entry, take, locals);
    if (result >= 0 && locals->count == 1 && locals->name && is_by_clang(locals) && is_static(locals, &locals->first) &&
        is_declared_around(locals))
        refuse_ambiguous(locals);
    if (result >= 0 && locals->name && !locals->count)
        result = find_around(locals, binary);
    if (result >= 0 && locals->name && !context->at_entry)
        refuse_shadowed(locals);
    return result < 0 ? result : 0;
}

/* Makes of each name that was found what is found by it: scopes around may have another one, or several. */
static int find_each(struct locals *locals, const struct binary *binary)
{
    for (size_t i = 0; i < locals->count; i++) {
        struct locals one = {.context = locals->context,
                             .site = locals->site,
                             .name = locals->items[i].name,
                             .inner = locals->inner,
                             .passed = locals->passed,
                             .passed_count = locals->passed_count};
        int result = find_in(&one, binary);
        if (result)
            return result;
        if (one.count)
            locals->items[i] = one.items[0];
    }
    return 0;
}

static int find_at(const struct site *site, const char *name, struct arena *arena, struct locals *locals,
                   struct error *err)
{
    struct module module = {.path = site->path, .name = site->module};
    struct binary *binary;
    *locals = (struct locals){.context = {.arena = arena}, .site = site, .name = name};
    int result = binary_open(&module, &binary, err);
    if (result)
        return result;
    const struct debug_file_search search = {
        .root = -1, .debug_root = DEBUG_FILE_ROOT, .module = binary_module(binary)->name};
    struct frame_rules *rules = frame_rules_open(binary_elf(binary), &search);
    locals->context.rules = rules;
    result = begin(locals, binary, err);
    if (!result && (find_in(locals, binary) || (!name && find_each(locals, binary))))
        result = damaged(locals, err);
    if (!result && name && (!locals->count || !local_is_there(&locals->items[0])))
        result = explain(locals, err);
    frame_rules_close(rules);
    binary_close(binary);
    return result;
}

/* --- several sites --- */

static bool same_place(const struct argument *a, const struct argument *b)
{
    return a->place == b->place && a->offset == b->offset && a->base == b->base && a->number == b->number &&
           a->in_memory == b->in_memory && a->step_count == b->step_count &&
           (!a->step_count || !memcmp(a->steps, b->steps, a->step_count * sizeof *a->steps));
}

/* Makes of ARGUMENT, of the site FIRST, what holds for OTHER, of SECOND, too; NULL: SECOND has none. */
static void merge(struct argument *argument, const struct argument *other, const struct site *first,
                  const struct site *second, struct arena *arena)
{
    if (argument->place == ARGUMENT_NOWHERE)
        return;
    const char *where = text_of(second, arena), *why = NULL;
    if (!other)
        why = arena_format(arena, "%s has no such variable", where);
    else if (other->place == ARGUMENT_NOWHERE)
        why = arena_format(arena, "at %s %s", where, other->type);
    else if (argument->kind != other->kind || argument->bits != other->bits || strcmp(argument->type, other->type))
        why = arena_format(arena, "at %s it is a '%s', at %s a '%s'", text_of(first, arena), argument->type, where,
                           other->type);
    else if (!same_place(argument, other))
        why = arena_format(arena,
                           "%s and %s have it in other places than each other; give each a probe of its own: "
                           "\"%s:%#llx\" and \"%s:%#llx\"",
                           text_of(first, arena), where, first->module, (unsigned long long)first->address,
                           second->module, (unsigned long long)second->address);
    if (!why)
        return;
    argument->place = ARGUMENT_NOWHERE;
    argument->type = why;
}

int locals_find(const struct sites *sites, const char *name, struct arena *arena, const struct argument **arguments,
                size_t *count, struct error *err)
{
    struct locals first, other;
    if (sites->count > MAX_SITES_OF_LOCALS)
        return error_set(err, -E2BIG, "e.vars of %zu places: those of at most %d are compared", sites->count,
                         MAX_SITES_OF_LOCALS);
    for (size_t i = 0; i < sites->count; i++) {
        int result = find_at(&sites->items[i], name, arena, i ? &other : &first, err);
        if (result)
            return result;
        for (size_t n = 0; i && n < first.count; n++)
            merge(&first.items[n], find_named(other.items, other.count, first.items[n].name), &sites->items[0],
                  &sites->items[i], arena);
    }
    *arguments = sites->count ? first.items : NULL;
    *count = sites->count ? first.count : 0;
    if (name && *count && !local_is_there(&first.items[0]))
        return error_set(err, -ENODATA, "the variable '%s' cannot be read: %s", name, first.items[0].type);
    return 0;
}
