/*
 * Handlers on several CPUs take the time of a record, and then a place in a ring: records lie almost in order of time,
 * and those of two rings meet only here. A record is read when it is older than the time that handlers need for both
 * (the caller's UNTIL). What is found of a ring is its beginning, since that is what can be given back.
 */
#include "map/merge.h"

#include <stdbool.h>
#include <stdlib.h>

#include <linux/bpf.h>

#include "../bpf/timed.h"

enum { LATER = 1000000000 }; /* ns: nothing is emitted so long after the caller has looked at the clock */

struct source {
    struct ring *ring;
    size_t size;
    uint64_t begin, end; /* positions of what was found */
    size_t first, count; /* its records in `all` */
    bool stopped;
};

struct merge {
    struct source *sources;
    size_t source_count;
    struct merged *all, *found;
    size_t room, found_count;
    uint64_t last, disorder;
};

struct merge *merge_new(void)
{
    return calloc(1, sizeof(struct merge));
}

void merge_free(struct merge *merge)
{
    if (!merge)
        return;
    free(merge->sources);
    free(merge->all);
    free(merge->found);
    free(merge);
}

int merge_add(struct merge *merge, struct ring *ring, size_t size)
{
    struct source *grown = realloc(merge->sources, (merge->source_count + 1) * sizeof *grown);
    if (!grown)
        return -1;
    merge->sources = grown;
    grown[merge->source_count] = (struct source){.ring = ring, .size = size};
    return (int)merge->source_count++;
}

/* The whole time of which WORD, a record's head, has the lower bits; it is no later than about NOW. */
static uint64_t time_of(uint64_t word, uint64_t now)
{
    uint64_t mask = UINT64_MAX >> RING_TAG_BITS, low = word >> RING_TAG_BITS;
    return now - ((now - low) & mask);
}

static bool has_room(struct merge *merge, size_t wanted)
{
    if (wanted <= merge->room)
        return true;
    size_t room = 2 * wanted + 1024;
    struct merged *all = realloc(merge->all, room * sizeof *all);
    if (all)
        merge->all = all;
    struct merged *found = all ? realloc(merge->found, room * sizeof *found) : NULL;
    if (!found)
        return false;
    merge->found = found;
    merge->room = room;
    return true;
}

/* Appends the complete records of SOURCE, the NUMBER-th, to the COUNT that there are; returns how many there are now.
 */
static size_t list(struct merge *merge, struct source *source, uint32_t number, uint64_t now, size_t count)
{
    uint64_t begin, end;
    source->count = 0;
    if (source->stopped)
        return count;
    size_t records = ring_batch(source->ring, source->size, &begin, &end);
    const uint8_t *data = ring_data(source->ring);
    source->begin = source->end = begin;
    source->first = count;
    if (!has_room(merge, count + records))
        return count; /* they are still there */
    for (uint64_t position = begin; position < end;) {
        uint32_t at = (uint32_t)(position & (source->size - 1));
        uint32_t header = *(const uint32_t *)(data + at);
        uint32_t length = header & ~(uint32_t)(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
        if (!(header & BPF_RINGBUF_DISCARD_BIT) && length >= 8) {
            uint64_t word = *(const uint64_t *)(data + at + BPF_RINGBUF_HDR_SZ);
            merge->all[count++] = (struct merged){time_of(word, now), position, number, at};
            source->count++;
        }
        position += ((uint64_t)length + BPF_RINGBUF_HDR_SZ + 7) & ~7ull;
        source->end = position;
    }
    return count;
}

/* Cuts what is found of each source behind its first records up to UNTIL. Returns the least time of those that are cut
 * off. */
static uint64_t cut(struct merge *merge, uint64_t until)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < merge->source_count; i++) {
        struct source *source = &merge->sources[i];
        const struct merged *records = merge->all + source->first;
        size_t kept = 0;
        while (kept < source->count && records[kept].time <= until)
            kept++;
        for (size_t n = kept; n < source->count; n++)
            least = records[n].time < least ? records[n].time : least;
        if (kept < source->count)
            source->end = records[kept].position;
        source->count = kept;
    }
    return least;
}

static int in_order(const void *a, const void *b)
{
    const struct merged *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->ring != y->ring)
        return x->ring < y->ring ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

size_t merge_find(struct merge *merge, uint64_t until, uint64_t now, const struct merged **records)
{
    size_t count = 0, total;
    now += LATER;
    for (size_t i = 0; i < merge->source_count; i++)
        count = list(merge, &merge->sources[i], (uint32_t)i, now, count);
    /* What is cut off must not be earlier than what is found: it would have been read in its order. */
    for (uint64_t least = cut(merge, until); least <= until; least = cut(merge, until))
        until = least - 1;
    total = 0;
    for (size_t i = 0; i < merge->source_count; i++)
        for (size_t n = 0; n < merge->sources[i].count; n++)
            merge->found[total++] = merge->all[merge->sources[i].first + n];
    if (total)
        qsort(merge->found, total, sizeof *merge->found, in_order);
    for (size_t i = 0; i < total; i++) {
        merge->disorder += merge->found[i].time < merge->last;
        merge->last = merge->found[i].time > merge->last ? merge->found[i].time : merge->last;
    }
    *records = merge->found;
    merge->found_count = total;
    return total;
}

void merge_stop(struct merge *merge, uint32_t number, size_t next)
{
    struct source *source = &merge->sources[number];
    source->stopped = true;
    if (next)
        merge->last = merge->found[next - 1].time; /* those behind it come later, if at all */
    for (size_t i = next; i < merge->found_count; i++)
        if (merge->found[i].ring == number && merge->found[i].position < source->end)
            source->end = merge->found[i].position;
}

void merge_resume(struct merge *merge, uint32_t number)
{
    merge->sources[number].stopped = false;
}

void merge_release(struct merge *merge)
{
    for (size_t i = 0; i < merge->source_count; i++) {
        struct source *source = &merge->sources[i];
        if (source->end > source->begin)
            ring_release(source->ring, source->end);
        source->begin = source->end;
    }
}

int merge_is_full(const struct merge *merge)
{
    for (size_t i = 0; i < merge->source_count; i++)
        if (!merge->sources[i].stopped && ring_filled(merge->sources[i].ring) > merge->sources[i].size / 2)
            return 1;
    return 0;
}

uint64_t merge_disorder(const struct merge *merge)
{
    return merge->disorder;
}
