/* Grows arrays: each time they become twice as large; and searches in them. */
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { AT_FIRST = 16 };

bool array_grow(void *items, size_t *capacity, size_t size)
{
    void *old;
    memcpy(&old, items, sizeof old); /* a pointer to a pointer of any type */
    size_t larger = *capacity ? *capacity * 2 : AT_FIRST;
    void *grown = reallocarray(old, larger, size);
    if (!grown)
        return false;
    memcpy(items, &grown, sizeof grown);
    *capacity = larger;
    return true;
}

void *array_add(void *items, size_t *count, size_t size)
{
    char *grown;
    memcpy(&grown, items, sizeof grown);
    if (!(*count & (*count - 1))) { /* none, or a power of two: there is room for no more */
        grown = reallocarray(grown, *count ? 2 * *count : 1, size);
        if (!grown)
            return NULL;
        memcpy(items, &grown, sizeof grown);
    }
    return memset(grown + (*count)++ * size, 0, size);
}

int array_add_string(char ***strings, size_t *count, const char *text)
{
    char *copy = strdup(text), **added = copy ? array_add(strings, count, sizeof *added) : NULL;
    if (!added) {
        free(copy);
        return -ENOMEM;
    }
    *added = copy;
    return 0;
}

bool array_has_string(char *const *strings, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(strings[i], text) == 0)
            return true;
    return false;
}

void array_free_strings(char **strings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(strings[i]);
    free(strings);
}

size_t array_up_to(const void *items, size_t count, size_t size, uint64_t key)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t first;
        memcpy(&first, (const char *)items + middle * size, sizeof first);
        if (first <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
