/* Looks for a variable at the beginning of each line of its function, as a probe of that line would. */
#include "probe/args/local_lines.h"

#include <stdlib.h>
#include <string.h>

#include "sym/debuglines.h"

enum { MAX_LINES = 4096, MOST_RANGES = 8 };

struct line_search {
    struct local_context context;
    const char *name;
    uint64_t function;                /* whose the variable and the lines are … */
    unsigned first;                   /* … and where it begins: code of others is moved between its own */
    struct debugline seen[MAX_LINES]; /* the first row of each line */
    bool there[MAX_LINES];
    size_t count;
    bool found;
};

static int take_named(const struct debuglocal *local, void *context)
{
    struct line_search *search = context;
    size_t length = strcspn(search->name, ".[");
    if (local->kind != DEBUGLOCAL_VARIABLE || strncmp(local->name, search->name, length) != 0 || local->name[length])
        return 0;
    struct argument found = local_place(&search->context, local, search->name + length);
    search->found = local->function == search->function && local_is_there(&found);
    return 1;
}

static int take_line(const struct debugline *line, void *context)
{
    struct line_search *search = context;
    if (!line->statement || line->line < search->first || line->function != search->function)
        return 0;
    for (size_t i = 0; i < search->count; i++)
        if (search->seen[i].line == line->line)
            return 0;
    if (search->count == MAX_LINES)
        return 1;
    search->found = false;
    search->context.address = line->address;
    debugscope_visit(search->context.debuginfo, line->address, false, take_named, search);
    search->there[search->count] = search->found;
    search->seen[search->count++] = *line;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct debugline *first = a, *second = b;
    return first->line < second->line ? -1 : first->line > second->line;
}

/* The ranges of LINES, COUNT of them and ascending: "12-14, 18"; of many those around the line NEAR. */
static const char *ranges_of(struct arena *arena, const struct debugline *lines, size_t count, unsigned near)
{
    struct range {
        unsigned first, last;
    } *ranges = arena_allocate(arena, count * sizeof *ranges);
    size_t all = 0, from = 0;
    for (size_t i = 0; i < count; i++) {
        if (all && lines[i].line <= ranges[all - 1].last + 1)
            ranges[all - 1].last = lines[i].line;
        else
            ranges[all++] = (struct range){lines[i].line, lines[i].line};
    }
    while (from + MOST_RANGES < all && ranges[from + MOST_RANGES / 2].last < near)
        from++;
    const char *text = from ? "… " : "";
    for (size_t i = from; i < all && i < from + MOST_RANGES; i++) {
        const char *comma = i > from ? ", " : "";
        text = ranges[i].first == ranges[i].last
                   ? arena_format(arena, "%s%s%u", text, comma, ranges[i].first)
                   : arena_format(arena, "%s%s%u-%u", text, comma, ranges[i].first, ranges[i].last);
    }
    return from + MOST_RANGES < all ? arena_format(arena, "%s …", text) : text;
}

/* The name of PLACE's file, without its folder. */
static const char *file_of(const struct source_line *place)
{
    const char *slash = place->file ? strrchr(place->file, '/') : NULL;
    return slash ? slash + 1 : place->file ? place->file : "its file";
}

const char *local_lines(const struct local_context *context, const char *name, uint64_t function)
{
    struct arena *arena = context->arena;
    struct line_search *search = arena_allocate(arena, sizeof *search);
    struct source_line here = {0}, there = {0};
    size_t count = 0;
    search->context = *context;
    search->context.at_entry = false;
    search->name = name;
    search->function = function;
    search->first = debuglines_declared(context->debuginfo, function);
    debuglines_visit(context->debuginfo, context->address, take_line, search);
    for (size_t i = 0; i < search->count; i++)
        if (search->there[i])
            search->seen[count++] = search->seen[i];
    if (!count)
        return "";
    debuginfo_lookup(context->debuginfo, context->address, &here, 1);
    debuginfo_lookup(context->debuginfo, search->seen[0].address, &there, 1);
    qsort(search->seen, count, sizeof *search->seen, by_number);
    const char *text = ranges_of(arena, search->seen, count, here.line);
    bool one = search->seen[0].line == search->seen[count - 1].line;
    return arena_format(arena, "it is there on the line%s %s of %s", one ? "" : "s", text, file_of(&there));
}
