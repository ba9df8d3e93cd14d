/* Memory that is allocated piece by piece and freed whole, as that of one compilation. */
#pragma once

#include <stddef.h>

struct arena {
    struct arena_chunk *chunks;
    /* Called when memory is exhausted; must not return (the compiler leaves by its one error exit). */
    void (*exhausted)(void *context) __attribute__((noreturn));
    void *context;
};

/* SIZE zeroed bytes, aligned for any type; lives until arena_free. Never returns NULL. */
void *arena_allocate(struct arena *arena, size_t size);
/* A copy of LENGTH bytes with a NUL behind them. */
char *arena_string(struct arena *arena, const char *bytes, size_t length);
char *arena_format(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* ITEMS (COUNT used, elements of SIZE bytes) with room for one more: the same array, or a copy twice as large. */
void *arena_grow(struct arena *arena, void *items, size_t count, size_t size);
void arena_free(struct arena *arena);
