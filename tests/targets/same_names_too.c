/* The other files of same_names.c: NAME is the function, of which each has a total of its own. */
#include <stdio.h>

#include "noinline.h"

#define TEXT(name) #name
#define TEXT_OF(name) TEXT(name)

extern int exported;
static long total = FIRST;

NOINLINE void NAME(int i)
{
    printf(TEXT_OF(NAME) " %ld %d\n", total, exported);
    total += i + 1;
}
