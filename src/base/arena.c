/* Memory that is allocated piece by piece and freed whole. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_SIZE = 64 * 1024, ALIGNMENT = 16 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, size;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

void *arena_allocate(struct arena *arena, size_t size)
{
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->used < size) {
        size_t capacity = size > CHUNK_SIZE ? size : CHUNK_SIZE;
        chunk = size > SIZE_MAX / 2 ? NULL : calloc(1, sizeof *chunk + capacity);
        if (!chunk)
            arena->exhausted(arena->context);
        chunk->size = capacity;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    void *result = chunk->bytes + chunk->used;
    chunk->used += size;
    return result;
}

char *arena_string(struct arena *arena, const char *bytes, size_t length)
{
    char *copy = arena_allocate(arena, length + 1);
    memcpy(copy, bytes, length);
    return copy;
}

char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = arena_allocate(arena, length < 0 ? 1 : (size_t)length + 1);
    if (length >= 0)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void *arena_grow(struct arena *arena, void *items, size_t count, size_t size)
{
    /* Capacities are the powers of two from 4: a full array is one whose count is such a power. */
    if (count && (count < 4 || (count & (count - 1))))
        return items;
    size_t capacity = count < 4 ? 4 : count * 2;
    void *larger = arena_allocate(arena, capacity * size);
    if (count)
        memcpy(larger, items, count * size);
    return larger;
}

void arena_free(struct arena *arena)
{
    while (arena->chunks) {
        struct arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
}
