/* Names of blocks, each of which means another thing than outside of the block. */
#include <stdio.h>

#include "noinline.h"

int total = 5000;
volatile int sink;

NOINLINE int blocks(int i)
{
    int total = 2 * i;
    sink = total;
    {
        extern int total;
        sink = total;
        printf("extern %d\n", total); /* LINE extern */
    }
    {
        static int total = 700;
        total++;
        printf("static %d\n", total); /* LINE static */
    }
    {
        static int total = 800;
        total += 2;
        printf("second %d\n", total); /* LINE second */
    }
    printf("automatic %d\n", total); /* LINE automatic */
    return sink;
}

NOINLINE int constant(int i)
{
    enum { total = 3 };
    printf("constant %d\n", total); /* LINE constant */
    return total + i;
}

int main(void)
{
    for (int i = 0; i < 5; i++) {
        blocks(i);
        constant(i);
        total++;
    }
    return 0;
}
