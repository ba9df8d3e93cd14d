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
    if (strcmp(local->name, search->name) != 0)
        return 0;
    search->found =
        local->function == search->function && local_place(&search->context, local).place != ARGUMENT_NOWHERE;
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
    debugscope_visit(search->context.debuginfo, line->address, take_named, search);
    search->there[search->count] = search->found;
    search->seen[search->count++] = *line;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const struct debugline *first = a, *second = b;
    return first->line < second->line ? -1 : first->line > second->line;
}

/* The ranges of LINES, COUNT of them and ascending: "12-14, 18". */
static const char *ranges_of(struct arena *arena, const struct debugline *lines, size_t count, size_t *ranges)
{
    const char *text = "";
    *ranges = 0;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && lines[next].line <= lines[next - 1].line + 1;)
            next++;
        const char *comma = *ranges ? ", " : "";
        if (++*ranges > MOST_RANGES)
            return arena_format(arena, "%s …", text);
        text = lines[next - 1].line == lines[i].line
                   ? arena_format(arena, "%s%s%u", text, comma, lines[i].line)
                   : arena_format(arena, "%s%s%u-%u", text, comma, lines[i].line, lines[next - 1].line);
    }
    return text;
}

/* The name of the file that the code at ADDRESS comes from, without its folder. */
static const char *file_of(struct debuginfo *debuginfo, uint64_t address)
{
    struct source_line place;
    const char *file = debuginfo_lookup(debuginfo, address, &place, 1) ? place.file : NULL;
    const char *slash = file ? strrchr(file, '/') : NULL;
    return slash ? slash + 1 : file ? file : "its file";
}

const char *local_lines(const struct local_context *context, const char *name, uint64_t function)
{
    struct arena *arena = context->arena;
    struct line_search *search = arena_allocate(arena, sizeof *search);
    size_t count = 0, ranges;
    search->context = *context;
    search->name = name;
    search->function = function;
    search->first = debuglines_declared(context->debuginfo, function);
    debuglines_visit(context->debuginfo, context->address, take_line, search);
    for (size_t i = 0; i < search->count; i++)
        if (search->there[i])
            search->seen[count++] = search->seen[i];
    if (!count)
        return "";
    const char *file = file_of(context->debuginfo, search->seen[0].address);
    qsort(search->seen, count, sizeof *search->seen, by_number);
    const char *text = ranges_of(arena, search->seen, count, &ranges);
    bool one = search->seen[0].line == search->seen[count - 1].line;
    return arena_format(arena, "it is there on the line%s %s of %s", one ? "" : "s", text, file);
}
