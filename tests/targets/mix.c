/*
 * Spends its time in four functions, in shares that a random number decides for each few microseconds: samplers that
 * look at the same time see the same shares.
 *
 *   mix [S]     S seconds of CPU time, 1 if not given
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "noinline.h"

static volatile uint64_t sink;

#define WORK(name, rounds)                                                                                             \
    NOINLINE void name(void)                                                                                           \
    {                                                                                                                  \
        for (int i = 0; i < (rounds); i++)                                                                             \
            sink += (uint64_t)i;                                                                                       \
    }

WORK(often, 1000)
WORK(sometimes, 600)
WORK(seldom, 300)
WORK(hardly_ever, 100)

int main(int argc, char **argv)
{
    clock_t end = (clock_t)((argc > 1 ? atof(argv[1]) : 1) * CLOCKS_PER_SEC);
    uint64_t random = 23;

    do {
        for (int i = 0; i < 10000; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            void (*work[])(void) = {often, sometimes, seldom, hardly_ever};
            work[random >> 62]();
        }
    } while (clock() < end);
    return 0;
}
