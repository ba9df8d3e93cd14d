/* Grows arrays: each time they become twice as large. */
#include "base/array.h"

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
