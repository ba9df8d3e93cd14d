/*
 * usdt HITS: prints "ready"; for each byte on its standard input passes the probe bench:hit, which has two arguments,
 * HITS times and prints the nanoseconds of CPU time that one took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../../examples/usdt.h"

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv)
{
    long hits = argc > 1 ? atol(argv[1]) : 0;
    char byte;

    if (hits < 1)
        return 2;
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) == 1) {
        double start = now();
        for (long i = 0; i < hits; i++) {
            int size = (int)(i & 1023);
            __asm__ volatile(USDT("bench", "hit", "-4@%0 8@%1")::"nor"(size), "nor"(i));
        }
        printf("%.1f\n", (now() - start) / (double)hits);
        fflush(stdout);
    }
    return 0;
}
