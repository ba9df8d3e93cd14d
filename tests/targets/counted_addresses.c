/* Calls see(BASE + 4 * i) i + 1 times, for i from 0 to 15: integers that tostring cannot tell apart. */
#include "noinline.h"

enum { PLACES = 16 };

static volatile unsigned long sink;

NOINLINE void see(unsigned long address)
{
    sink = address;
}

int main(void)
{
    for (unsigned long i = 0; i < PLACES; i++)
        for (unsigned long k = 0; k <= i; k++)
            see(0x7fff00000000 + 4 * i);
    return 0;
}
