/* Arrays that grow by one element after the other, and arrays in order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes an array larger, for array_room. */
bool array_grow(void *items, size_t *capacity, size_t size);

/*
 * How many of the COUNT elements of SIZE bytes at ITEMS are not above KEY: each begins with a uint64_t, by which they
 * ascend.
 */
size_t array_up_to(const void *items, size_t count, size_t size, uint64_t key);

/*
 * Makes room behind COUNT elements of SIZE bytes in an array for *CAPACITY of them, which is malloc'd. ITEMS is the
 * address of the pointer to it, NULL at first. False without memory: the array is as it was.
 */
static inline bool array_room(void *items, size_t count, size_t *capacity, size_t size)
{
    return count < *capacity || array_grow(items, capacity, size);
}

/*
 * Appends a zeroed element of SIZE bytes to an array that only this function has made larger, whose capacity its count
 * tells. ITEMS as above. NULL without memory.
 */
void *array_add(void *items, size_t *count, size_t size);
/* Appends a copy of TEXT to such an array of strings. 0 or -ENOMEM. */
int array_add_string(char ***strings, size_t *count, const char *text);
bool array_has_string(char *const *strings, size_t count, const char *text);
void array_free_strings(char **strings, size_t count);
