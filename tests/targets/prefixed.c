/*
 * An allocator whose functions have jemalloc's names with the prefix under which Rust programs link it in: they stand
 * on the C library's here, so that one call of the program is two of functions that allocate. The file defines no
 * malloc itself.
 */
#include <stdlib.h>

#include "noinline.h"

enum { KEPT = 23, PASSED = 101, BYTES = 1000 };

void *_rjem_mallocx(size_t bytes, int flags);
void *_rjem_rallocx(void *block, size_t bytes, int flags);
void _rjem_sdallocx(void *block, size_t bytes, int flags);
void _rjem_stats_print(void);

static void *volatile kept[KEPT];

NOINLINE void *_rjem_mallocx(size_t bytes, int flags)
{
    char *block = malloc(bytes + 16 + (size_t)flags);

    return block ? block + 16 : NULL;
}

NOINLINE void *_rjem_rallocx(void *block, size_t bytes, int flags)
{
    char *moved = realloc((char *)block - 16, bytes + 16 + (size_t)flags);

    return moved ? moved + 16 : NULL;
}

NOINLINE void _rjem_sdallocx(void *block, size_t bytes, int flags)
{
    (void)bytes, (void)flags;
    free((char *)block - 16);
    __asm__ volatile(""); /* not a tail call */
}

/* Looks like one of them, and is none. */
NOINLINE void _rjem_stats_print(void)
{
    __asm__ volatile("");
}

NOINLINE void keep_prefixed(unsigned i)
{
    kept[i] = _rjem_rallocx(_rjem_mallocx(10, 0), BYTES, 0);
    __asm__ volatile("");
}

NOINLINE void pass_prefixed(size_t bytes)
{
    _rjem_sdallocx(_rjem_mallocx(bytes, 0), bytes, 0);
    __asm__ volatile("");
}

int main(void)
{
    for (unsigned i = 0; i < KEPT; i++)
        keep_prefixed(i);
    for (unsigned i = 0; i < PASSED; i++)
        pass_prefixed(i + 1);
    _rjem_stats_print();
    return 0;
}
