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

/* The first of a name is what it means: scopes come from inside. */
static int take(const struct debuglocal *local, void *context)
{
    struct locals *locals = context;
    size_t length = locals->name ? strcspn(locals->name, ".[") : 0;
    if ((locals->name && (strncmp(local->name, locals->name, length) != 0 || local->name[length])) ||
        find_named(locals->items, locals->count, local->name))
        return 0;
    const struct argument *passed =
        local->parameter && !local->inlined ? find_named(locals->passed, locals->passed_count, local->name) : NULL;
    locals->items = arena_grow(locals->context.arena, locals->items, locals->count, sizeof *locals->items);
    locals->entries = arena_grow(locals->context.arena, locals->entries, locals->count, sizeof *locals->entries);
    locals->entries[locals->count] = local->entry;
    locals->function = local->function;
    locals->items[locals->count++] =
        passed ? *passed : local_place(&locals->context, local, locals->name ? locals->name + length : "");
    return locals->count == MAX_LOCALS;
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
        debugscope_visit(debuginfo, search.others[i], compare_meaning, &names);
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

/* Why the variable of the name is not there, and where it is. */
static int explain(struct locals *locals, struct error *err)
{
    const char *where = text_of(locals->site, locals->context.arena), *name = locals->name;
    if (!locals->count)
        debuginfo_function(locals->context.debuginfo, locals->context.address, true, &locals->function);
    const char *lines = local_lines(&locals->context, name, locals->function);
    struct suggest suggest;
    if (locals->count)
        return error_set(err, -ENODATA, "the variable '%s' cannot be read at %s: %s%s%s", name, where,
                         locals->items[0].type, *lines ? "; " : "", lines);
    if (*lines)
        return error_set(err, -ENOENT, "the source has no variable '%s' at %s: %s", name, where, lines);
    const char *list = "";
    suggest_init(&suggest, name);
    locals->name = NULL;
    debugscope_visit(locals->context.debuginfo, locals->context.address, take, locals);
    for (size_t i = 0; i < locals->count; i++) {
        if (locals->items[i].place == ARGUMENT_NOWHERE)
            continue;
        suggest_offer(&suggest, locals->items[i].name, strlen(locals->items[i].name));
        list = arena_format(locals->context.arena, "%s%s%s", list, *list ? ", " : "; it has ", locals->items[i].name);
    }
    debugglobal_names(locals->context.debuginfo, locals->context.address, offer_name, &suggest);
    return error_set(err, -ENOENT, "%s has no variable '%s'%s", where, name,
                     suggest.count ? suggest_text(&suggest) : list);
}

static int find_in(struct locals *locals, const struct binary *binary, struct error *err)
{
    struct local_context *context = &locals->context;
    const struct site *site = locals->site;
    int result = debug_keep(binary, site->function, purpose, &context->debuginfo, err);
    if (result)
        return result;
    context->address = site->address;
    if (debugfunction_at(context->debuginfo, site->address, &context->function))
        return debug_undescribed(context->debuginfo, site->address, text_of(site, context->arena), site->module,
                                 "this code", err);
    context->has_thread_block = binary_thread_block(binary, &context->thread_block);
    context->prologue_end = debuglines_prologue_end(context->debuginfo, context->function.address);
    find_passed(locals);
    result = debugscope_visit(context->debuginfo, site->address, take, locals);
    if (result < 0)
        return error_set(err, -EINVAL, "%s: the debug information of %s is damaged", site->function, site->module);
    refuse_shadowed(locals);
    struct argument global;
    if (locals->name && !locals->count && global_place(context, binary, locals->name, &global)) {
        locals->items = arena_grow(context->arena, locals->items, locals->count, sizeof *locals->items);
        locals->items[locals->count++] = global;
        debuginfo_function(context->debuginfo, context->address, true, &locals->function);
    }
    if (locals->name && (!locals->count || !local_is_there(&locals->items[0])))
        return explain(locals, err);
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
    result = find_in(locals, binary, err);
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
