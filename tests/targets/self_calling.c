/*
 * An allocator whose functions call each other in each way: directly, by a jump, through a helper, far away, by a
 * pointer. It gives every block once and takes none back.
 *
 *   self_calling    prints "ready PID", waits for a byte on stdin, makes 23 calls of malloc, 101 of calloc and 7 of
 *                   memalign, and frees all these blocks; of 5 of them free reports, for which it allocates far away.
 *                   Another byte ends it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "noinline.h"

#define KEEP(value) __asm__ volatile("" : "+r"(value) : : "memory") /* so that no call becomes a jump */

enum { ROOM = 1 << 20, REPORTED = 1000 };
static char room[ROOM];
static size_t used;
static void *(*volatile next)(size_t bytes);

/* Calls none of the others. */
NOINLINE void *malloc(size_t bytes)
{
    size_t at = used;

    for (size_t i = 0; i < bytes % 3; i++) /* jumps within itself */
        __asm__ volatile("");
    used += sizeof(size_t) + (bytes + 15) / 16 * 16 + 8;
    if (used > ROOM) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(room + at + 8, &bytes, sizeof(bytes));
    return room + at + 16;
}

/* Directly. */
NOINLINE void *calloc(size_t count, size_t bytes)
{
    void *block = malloc(count * bytes);

    KEEP(block);
    return block;
}

/* By a jump. */
NOINLINE void *memalign(size_t alignment, size_t bytes)
{
    (void)alignment;
    return malloc(bytes);
}

NOINLINE static void *grow(void *old, size_t bytes)
{
    void *block = malloc(bytes);

    if (block && old)
        memcpy(block, old, bytes);
    return block;
}

/* Through a helper. */
NOINLINE void *realloc(void *old, size_t bytes)
{
    void *block = grow(old, bytes);

    KEEP(block);
    return block;
}

NOINLINE static char *describe(size_t bytes)
{
    char *text = malloc(32);

    text[0] = (char)bytes;
    KEEP(text);
    return text;
}

NOINLINE static void report(size_t bytes)
{
    char *text = describe(bytes);

    KEEP(text);
}

/* Far away. */
NOINLINE void free(void *block)
{
    size_t bytes = 0;

    if (block)
        memcpy(&bytes, (char *)block - 8, sizeof(bytes));
    if (bytes == REPORTED)
        report(bytes);
    __asm__ volatile("");
}

/* By a pointer. */
NOINLINE void *valloc(size_t bytes)
{
    return next(bytes);
}

/* By what the loader finds. */
NOINLINE void *pvalloc(size_t bytes)
{
    void *(*found)(size_t) = (void *(*)(size_t))dlsym(RTLD_NEXT, "pvalloc");

    return found(bytes);
}

/* Itself. */
NOINLINE void cfree(void *block)
{
    if (block)
        cfree(*(void **)block);
    __asm__ volatile("");
}

/* In another file. */
NOINLINE int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    *block = aligned_alloc(alignment, bytes);
    return !*block;
}

static int wait_byte(void)
{
    char byte;

    return read(0, &byte, 1) == 1;
}

int main(void)
{
    static void *volatile blocks[131];
    static char output[4096];
    unsigned n = 0;

    next = malloc;
    setvbuf(stdout, output, _IOLBF, sizeof(output));
    printf("ready %d\n", (int)getpid());
    wait_byte();
    for (unsigned i = 0; i < 23; i++)
        blocks[n++] = malloc(i < 5 ? REPORTED : 10);
    for (unsigned i = 0; i < 101; i++)
        blocks[n++] = calloc(2, 30);
    for (unsigned i = 0; i < 7; i++)
        blocks[n++] = memalign(8, 50);
    while (n)
        free(blocks[--n]);
    printf("done\n");
    wait_byte();
    return 0;
}
