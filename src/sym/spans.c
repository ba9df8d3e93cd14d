#include "sym/spans.h"

#include <errno.h>
#include <stdlib.h>

static int by_nesting(const void *left, const void *right)
{
    const struct interval *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return (a->owner > b->owner) - (a->owner < b->owner);
}

/* From START on OWNER counts. */
static void add_span(struct spans *spans, uint64_t start, uint32_t owner)
{
    if (spans->count && spans->starts[spans->count - 1] == start)
        spans->count--; /* nothing lies between */
    if (spans->count && spans->owners[spans->count - 1] == owner)
        return;
    spans->starts[spans->count] = start;
    spans->owners[spans->count++] = owner;
}

/* Walks through the intervals by their starts; OPEN has those around the place reached, the last start on top. */
static void cut(struct spans *spans, const struct interval *items, size_t count, size_t *open)
{
    size_t depth = 0;
    for (size_t i = 0; i <= count; i++) {
        uint64_t until = i < count ? items[i].start : UINT64_MAX;
        while (depth && items[open[depth - 1]].end <= until) {
            uint64_t end = items[open[--depth]].end;
            while (depth && items[open[depth - 1]].end <= end)
                depth--;
            add_span(spans, end, depth ? items[open[depth - 1]].owner : SPANS_NOBODY);
        }
        if (i == count)
            break;
        add_span(spans, items[i].start, items[i].owner);
        open[depth++] = i;
    }
}

int spans_build(struct spans *spans, struct interval *items, size_t count)
{
    *spans = (struct spans){0};
    if (!count)
        return 0;
    qsort(items, count, sizeof *items, by_nesting);
    size_t *open = malloc(count * sizeof *open);
    spans->starts = malloc(count * 2 * sizeof *spans->starts); /* each starts and ends at most one */
    spans->owners = malloc(count * 2 * sizeof *spans->owners);
    int rc = open && spans->starts && spans->owners ? 0 : -ENOMEM;
    if (!rc)
        cut(spans, items, count, open);
    else
        spans_free(spans);
    free(open);
    return rc;
}

void spans_free(struct spans *spans)
{
    free(spans->starts);
    free(spans->owners);
    *spans = (struct spans){0};
}

uint32_t spans_find(const struct spans *spans, uint64_t address)
{
    if (!spans->count || address < spans->starts[0])
        return SPANS_NOBODY;
    const uint64_t *base = spans->starts;
    for (size_t count = spans->count; count > 1;) {
        size_t half = count / 2;
        base = base[half] <= address ? base + half : base; /* a conditional move: no branch to mispredict */
        count -= half;
    }
    return spans->owners[base - spans->starts];
}
