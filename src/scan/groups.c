/* Sums by stack and holder. */
#include "scan/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- tables: places of keys of two words in an array of items, by open addressing --- */

struct table {
    uint32_t *places; /* 1 + the item's number; 0: empty */
    size_t size;      /* a power of two */
};

static size_t hash(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
    return (size_t)(x ^ x >> 32);
}

/* Each item of SIZE bytes begins with its key of WORDS words. */
static bool same_key(const void *items, size_t size, size_t i, const uint64_t *key, size_t words)
{
    return !memcmp((const char *)items + i * size, key, words * sizeof *key);
}

static int grow_table(struct table *table, const void *items, size_t count, size_t size, size_t words)
{
    size_t larger = table->size ? table->size * 2 : 1024;
    uint32_t *places = calloc(larger, sizeof *places);
    if (!places)
        return -ENOMEM;
    free(table->places);
    *table = (struct table){places, larger};
    for (size_t i = 0; i < count; i++) {
        uint64_t key[2] = {0};
        memcpy(key, (const char *)items + i * size, words * sizeof *key);
        size_t at = hash(key[0], key[1]) & (larger - 1);
        while (places[at])
            at = (at + 1) & (larger - 1);
        places[at] = (uint32_t)i + 1;
    }
    return 0;
}

/* The item of KEY in the array *ITEMS of *COUNT, appended with the rest zeroed if it is not there; NULL: no memory. */
static void *item_of(struct table *table, void *items, size_t *count, size_t size, const uint64_t key[2], size_t words)
{
    void **array = items;
    if (*count * 2 >= table->size) {
        void *larger = realloc(*array, (table->size ? table->size : 512) * size);
        if (!larger)
            return NULL;
        *array = larger;
        if (grow_table(table, larger, *count, size, words))
            return NULL;
    }
    size_t at = hash(key[0], words > 1 ? key[1] : 0) & (table->size - 1);
    while (table->places[at] && !same_key(*array, size, table->places[at] - 1, key, words))
        at = (at + 1) & (table->size - 1);
    char *item;
    if (!table->places[at]) {
        item = memset((char *)*array + *count * size, 0, size);
        memcpy(item, key, words * sizeof *key);
        table->places[at] = (uint32_t)++ * count;
    }
    return (char *)*array + (table->places[at] - 1) * size;
}

/* --- sums --- */

static void add(struct scan_sum *sum, const struct scan_block *block)
{
    sum->bytes += block->bytes;
    sum->blocks++;
}

static void add_direct(struct scan_group *group, const struct scan_block *block)
{
    add(&group->direct, block);
    if (!group->oldest || block->at < group->oldest)
        group->oldest = block->at;
    if (block->at > group->newest)
        group->newest = block->at;
}

struct making {
    struct groups *groups;
    struct graph *graph;
    struct table by_stack, by_holder;
};

static struct scan_group *group_of(struct making *making, const struct scan_block *block)
{
    uint64_t key[2] = {block->stack, 0};
    return item_of(&making->by_stack, &making->groups->items, &making->groups->count, sizeof(struct scan_group), key,
                   1);
}

static int add_holder(struct making *making, const struct scan_block *block, uint32_t i)
{
    uint64_t key[2] = {block->stack, making->graph->roots[i]};
    struct scan_holder *holder =
        item_of(&making->by_holder, &making->groups->holders, &making->groups->holder_count, sizeof *holder, key, 2);
    if (!holder)
        return -ENOMEM;
    if (!holder->held.blocks || making->graph->from[i] == NO_BLOCK)
        holder->example = i;
    add(&holder->held, block);
    return 0;
}

static int add_block(struct making *making, uint32_t i, const struct suspects *suspects, uint64_t born)
{
    struct graph *graph = making->graph;
    const struct scan_block *items = graph->blocks->items, *block = &items[i];
    struct scan_group *group = group_of(making, block);
    if (!group)
        return -ENOMEM;
    if (graph->reach[i] == REACH_HELD) {
        add(&group->held, block);
        return add_holder(making, block, i);
    }
    if (!suspects_has(suspects, block)) {
        add(block->at >= born ? &group->young : &group->unknown, block);
        return 0;
    }
    add(&group->lost, block);
    uint32_t leader = graph_leader(graph, i);
    if (leader == i || !suspects_has(suspects, &items[leader])) {
        add_direct(group, block);
        return 0;
    }
    group = group_of(making, &items[leader]);
    if (group)
        add(&group->indirect, block);
    return group ? 0 : -ENOMEM;
}

static int by_stack(const void *a, const void *b)
{
    const struct scan_group *x = a, *y = b;
    return (x->stack > y->stack) - (x->stack < y->stack);
}

static int by_stack_and_bytes(const void *a, const void *b)
{
    const struct scan_holder *x = a, *y = b;
    if (x->stack != y->stack)
        return x->stack > y->stack ? 1 : -1;
    if (x->held.bytes != y->held.bytes)
        return x->held.bytes < y->held.bytes ? 1 : -1;
    return (x->root > y->root) - (x->root < y->root);
}

int groups_make(struct groups *groups, struct graph *graph, const struct suspects *suspects, uint64_t born)
{
    struct making making = {.groups = groups, .graph = graph};
    int code = 0;
    groups_free(groups);
    for (uint32_t i = 0; !code && i < graph->blocks->count; i++)
        code = add_block(&making, i, suspects, born);
    free(making.by_stack.places);
    free(making.by_holder.places);
    if (groups->count)
        qsort(groups->items, groups->count, sizeof *groups->items, by_stack);
    if (groups->holder_count)
        qsort(groups->holders, groups->holder_count, sizeof *groups->holders, by_stack_and_bytes);
    return code;
}

void groups_free(struct groups *groups)
{
    free(groups->items);
    free(groups->holders);
    *groups = (struct groups){0};
}
