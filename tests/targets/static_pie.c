/* Allocates 23 times. In a static PIE the C library's malloc is a local name of what is exported as __malloc. */
#include <stdlib.h>

#include "noinline.h"

static void *volatile kept;

NOINLINE void allocates(int i)
{
    kept = malloc((size_t)i + 1);
    asm volatile("");
}

int main(void)
{
    for (int i = 0; i < 23; i++)
        allocates(i);
    return 0;
}
