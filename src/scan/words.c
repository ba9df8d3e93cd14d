/* Words that could be pointers. */
#include "scan/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { ADDRESSES = 48, PART = 26 }; /* bits: of an address, and of one within a part */

#define PARTS (1u << (ADDRESSES - PART))

/* --- where blocks may be --- */

int address_parts_begin(struct address_parts *parts)
{
    free(parts->bits);
    *parts = (struct address_parts){.bits = calloc(PARTS / 8, 1), .low = UINT64_MAX};
    return parts->bits ? 0 : -ENOMEM;
}

void address_parts_add(struct address_parts *parts, uint64_t start, uint64_t end)
{
    if (start >> ADDRESSES || end >> ADDRESSES || start >= end)
        return; /* the kernel's */
    uint64_t high = parts->low == UINT64_MAX ? end : parts->low + parts->span;
    parts->low = start < parts->low ? start : parts->low;
    parts->span = (end > high ? end : high) - parts->low;
    for (uint64_t part = start >> PART; part <= end >> PART; part++)
        parts->bits[part / 8] |= (uint8_t)(1 << part % 8);
}

void address_parts_free(struct address_parts *parts)
{
    free(parts->bits);
    *parts = (struct address_parts){0};
}

static bool has_part(const struct address_parts *parts, uint64_t address)
{
    return parts->bits[address >> PART >> 3] >> (address >> PART & 7) & 1;
}

/* --- words --- */

void words_begin(struct words *words, const struct address_parts *parts, size_t most)
{
    words->count = 0;
    words->parts = parts;
    words->most = most;
}

void words_free(struct words *words)
{
    free(words->items);
    *words = (struct words){0};
}

static bool add(struct words *words, uint64_t word, uint64_t at, enum rank rank)
{
    if (words->count >= words->most || !array_room(&words->items, words->count, &words->capacity, sizeof *words->items))
        return false;
    words->items[words->count++] = (struct graph_word){.at = at, .word = word, .rank = rank};
    return true;
}

bool words_add_memory(struct words *words, const uint8_t *bytes, uint64_t address, size_t size, enum rank rank)
{
    const struct address_parts *parts = words->parts;
    const uint64_t low = parts->low, span = parts->span;
    size_t before = words->count;
    uint64_t word;
    for (size_t at = 0; at + sizeof word <= size; at += WORD_STEP) {
        memcpy(&word, bytes + at, sizeof word);
        word &= ADDRESS_BITS;
        if (word - low > span || !has_part(parts, word))
            continue;
        if (!add(words, word, address + at, rank)) {
            words->count = before;
            return false;
        }
    }
    return true;
}

bool words_add_root(struct words *words, uint64_t word, uint64_t root, enum rank rank)
{
    word &= ADDRESS_BITS;
    return word - words->parts->low > words->parts->span || !has_part(words->parts, word) ||
           add(words, word, root, rank);
}

const struct graph_word *words_between(const struct words *words, uint64_t start, uint64_t end, size_t *count)
{
    size_t first = start ? array_up_to(words->items, words->count, sizeof *words->items, start - 1) : 0;
    size_t last = end ? array_up_to(words->items, words->count, sizeof *words->items, end - 1) : 0;
    *count = last > first ? last - first : 0;
    return words->items + first;
}
