/* A library that allocates in a function that nobody outside sees: keep(n) holds 100 + n bytes for the n-th time. */
#include <stdlib.h>

#include "noinline.h"

static void *volatile kept[101];

NOINLINE static void allocate(int n)
{
    kept[n] = malloc(100 + (size_t)n);
}

NOINLINE void keep(int n)
{
    allocate(n);
    __asm__ volatile("");
}
