/* The distinct rules of all unwind tables. */
#include "unwind/rules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum { FIRST_BUCKETS = 1024 };

int unwind_rules_init(struct unwind_rules *rules)
{
    *rules = (struct unwind_rules){.capacity = FIRST_BUCKETS / 2, .bucket_count = FIRST_BUCKETS};
    rules->items = calloc(rules->capacity, sizeof *rules->items);
    rules->buckets = calloc(rules->bucket_count, sizeof *rules->buckets);
    if (!rules->items || !rules->buckets) {
        unwind_rules_free(rules);
        return -ENOMEM;
    }
    rules->items[0] = RULE_UNKNOWN;
    rules->items[1] = RULE_END;
    rules->count = 2;
    return 0;
}

void unwind_rules_free(struct unwind_rules *rules)
{
    free(rules->items);
    free(rules->buckets);
    *rules = (struct unwind_rules){0};
}

/* Where RULE is among the buckets, or the free one where it belongs. */
static uint32_t *find(const struct unwind_rules *rules, uint64_t rule)
{
    size_t mask = rules->bucket_count - 1;
    for (size_t i = (rule * UINT64_C(0x9e3779b97f4a7c15)) >> 40;; i++) {
        uint32_t *bucket = &rules->buckets[i & mask];
        if (!*bucket || rules->items[*bucket] == rule)
            return bucket;
    }
}

static bool grow(struct unwind_rules *rules)
{
    size_t capacity = rules->capacity * 2, bucket_count = capacity * 2;
    uint64_t *items = realloc(rules->items, capacity * sizeof *items);
    if (items) {
        rules->items = items;
        rules->capacity = capacity;
    }
    uint32_t *buckets = items ? calloc(bucket_count, sizeof *buckets) : NULL;
    if (!buckets)
        return false;
    free(rules->buckets);
    rules->buckets = buckets;
    rules->bucket_count = bucket_count;
    for (uint32_t i = 2; i < rules->count; i++)
        *find(rules, rules->items[i]) = i;
    return true;
}

uint32_t unwind_rules_number(struct unwind_rules *rules, uint64_t rule)
{
    if (rule == RULE_UNKNOWN || rule == RULE_END)
        return (uint32_t)rule;
    uint32_t *bucket = find(rules, rule);
    if (*bucket)
        return *bucket;
    if (rules->count == RULE_NUMBERS)
        return RULE_UNKNOWN;
    if (rules->count * 2 >= rules->bucket_count) {
        if (!grow(rules))
            return RULE_UNKNOWN;
        bucket = find(rules, rule);
    }
    *bucket = (uint32_t)rules->count;
    rules->items[rules->count] = rule;
    return (uint32_t)rules->count++;
}

/* True if BYTES is a number of words that fits into 16 bits. */
static bool fits(int64_t bytes)
{
    return bytes % 8 == 0 && bytes / 8 >= INT16_MIN && bytes / 8 <= INT16_MAX;
}

/* True if NUMBER lies from -LIMIT on below LIMIT. */
static bool lies_within(int64_t number, int64_t limit)
{
    return number >= -limit && number < limit;
}

uint64_t unwind_rule(enum rule_kind kind, uint64_t base, int64_t offset, int64_t frame, int64_t link)
{
    if (base > 31 || !lies_within(offset, RULE_OFFSET_LIMIT) || !fits(frame) || !fits(link) ||
        !lies_within(link, RULE_LINK_LIMIT))
        return RULE_UNEXPRESSED;
    return (uint64_t)kind | base << 3 | ((uint64_t)(link / 8) & 0x7fff) << 8 | ((uint64_t)(frame / 8) & 0xffff) << 24 |
           ((uint64_t)offset & (2 * RULE_OFFSET_LIMIT - 1)) << 40;
}

uint64_t unwind_rule_deref(enum rule_kind kind, uint64_t base, int64_t offset, int64_t addend, int64_t frame,
                           int64_t link)
{
    if (!lies_within(offset, -INT16_MIN) || addend % 8 || !lies_within(addend, RULE_ADDEND_LIMIT))
        return RULE_UNEXPRESSED;
    return unwind_rule(kind, base, addend / 8 * (1 << 16) + (offset & 0xffff), frame, link);
}
