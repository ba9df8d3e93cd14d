/* Arrays that grow by one element after the other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Makes an array larger, for array_room. */
bool array_grow(void *items, size_t *capacity, size_t size);

/*
 * Makes room behind COUNT elements of SIZE bytes in an array for *CAPACITY of them, which is malloc'd. ITEMS is the
 * address of the pointer to it, NULL at first. False without memory: the array is as it was.
 */
static inline bool array_room(void *items, size_t count, size_t *capacity, size_t size)
{
    return count < *capacity || array_grow(items, capacity, size);
}
