/* flood SECONDS: calls spin as often as it can, and every quarter of a second rare; then prints how many hundreds of
 * calls of spin that quarter had. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "noinline.h"

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

NOINLINE void spin(void)
{
    __asm__ volatile("");
}

NOINLINE void rare(void)
{
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    double end = now() + atof(argc > 1 ? argv[1] : "1");
    while (now() < end) {
        double before = now();
        long hundreds = 0;
        for (; now() < before + 0.25; hundreds++)
            for (int i = 0; i < 100; i++)
                spin();
        rare();
        printf("%ld\n", hundreds);
        fflush(stdout);
    }
}
