/*
 * An allocator on top of the C library's, for LD_PRELOAD: each block has a header in front, as in debugging and
 * accounting allocators. One call of the program is two calls of functions named malloc; a tracer must count one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 32 };

static void *(*next_malloc)(size_t);
static void *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);

static void find(void)
{
    next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
}

static void *with_header(char *block, size_t bytes)
{
    if (!block)
        return NULL;
    memcpy(block, &bytes, sizeof(bytes));
    return block + HEADER;
}

__attribute__((constructor)) static void start(void)
{
    find();
}

void *malloc(size_t bytes)
{
    if (!next_malloc)
        find();
    if (bytes > SIZE_MAX - HEADER)
        return NULL;
    return with_header(next_malloc(bytes + HEADER), bytes);
}

void *calloc(size_t count, size_t bytes)
{
    size_t all;
    void *block;

    if (__builtin_mul_overflow(count, bytes, &all))
        return NULL;
    block = malloc(all); /* an allocator that calls itself, too */
    if (block)
        memset(block, 0, all);
    __asm__ volatile("" : "+r"(block) : : "memory"); /* keeps the compiler from making this a call of calloc */
    return block;
}

void *realloc(void *old, size_t bytes)
{
    if (!next_realloc)
        find();
    if (bytes > SIZE_MAX - HEADER)
        return NULL;
    return with_header(next_realloc(old ? (char *)old - HEADER : NULL, bytes + HEADER), bytes);
}

void free(void *block)
{
    if (!block)
        return;
    if (!next_free)
        find();
    next_free((char *)block - HEADER);
    __asm__ volatile(""); /* not a tail call */
}
