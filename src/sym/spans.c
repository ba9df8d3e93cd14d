/* Intervals that nest: finds the innermost by one binary search. */
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

/* Indices into items: those that the walk has reached, the latest on top (a binary heap). */
struct heap {
    uint32_t *items;
    size_t count;
};

static void heap_push(struct heap *heap, uint32_t item)
{
    size_t at = heap->count++;
    for (; at && heap->items[(at - 1) / 2] < item; at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = item;
}

static void heap_pop(struct heap *heap)
{
    uint32_t last = heap->items[--heap->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        child += child + 1 < heap->count && heap->items[child + 1] > heap->items[child];
        if (heap->items[child] <= last)
            break;
        heap->items[at] = heap->items[child];
    }
    heap->items[at] = last;
}

struct start {
    uint64_t address;
    uint32_t item;
};

static int by_start(const void *left, const void *right)
{
    const struct start *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

/* Walks through the intervals in the order of STARTS. */
static void cut_latest(struct spans *spans, const struct interval *items, const struct start *starts, size_t count,
                       struct heap *heap)
{
    for (size_t next = 0; next < count || heap->count;) {
        uint64_t at = heap->count ? items[heap->items[0]].end : starts[next].address;
        if (next < count && starts[next].address < at)
            at = starts[next].address;
        while (next < count && starts[next].address == at)
            heap_push(heap, starts[next++].item);
        while (heap->count && items[heap->items[0]].end <= at)
            heap_pop(heap);
        add_span(spans, at, heap->count ? heap->items[0] : SPANS_NOBODY);
    }
}

int spans_build_latest(struct spans *spans, const struct interval *items, size_t count)
{
    *spans = (struct spans){0};
    if (!count)
        return 0;
    struct start *starts = malloc(count * sizeof *starts);
    struct heap heap = {.items = malloc(count * sizeof *heap.items)};
    spans->starts = malloc(count * 2 * sizeof *spans->starts);
    spans->owners = malloc(count * 2 * sizeof *spans->owners);
    int rc = starts && heap.items && spans->starts && spans->owners ? 0 : -ENOMEM;
    if (rc) {
        spans_free(spans);
    } else {
        for (size_t i = 0; i < count; i++)
            starts[i] = (struct start){items[i].start, (uint32_t)i};
        qsort(starts, count, sizeof *starts, by_start);
        cut_latest(spans, items, starts, count, &heap);
    }
    free(starts);
    free(heap.items);
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
