/*
 * Pairs of malloc and free in a tight loop, for the benchmark, and blocks that stay.
 *
 *   allocs PAIRS [DEPTH [LIVE]]
 *
 * allocates LIVE blocks of 32 bytes that stay, then makes PAIRS pairs of allocate(64) and release below DEPTH extra
 * frames, and prints the nanoseconds of CPU time that a pair took. If $ALLOCS_WAIT is set, it prints "ready PID" and
 * waits for a byte on stdin before that; each further byte makes PAIRS more pairs and prints another line, and the end
 * of stdin ends it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "noinline.h"

static char output[4096];

static double cpu_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* what others run in between is not the pair's */
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/*
 * The same calls under names of this program: these functions begin with a push, on which a probe costs a fifteenth of
 * one on the first instruction of glibc's free, so that what a handler does shows.
 */
NOINLINE void *allocate(size_t bytes)
{
    void *block = malloc(bytes);

    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

NOINLINE void release(void *block)
{
    free(block);
    __asm__ volatile("");
}

NOINLINE void pairs(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        release(allocate(64));
}

NOINLINE void deeper(unsigned depth, unsigned long n)
{
    if (depth)
        deeper(depth - 1, n);
    else
        pairs(n);
    __asm__ volatile("");
}

NOINLINE void keep(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        allocate(32);
}

static int wait_byte(void)
{
    char byte;

    return read(0, &byte, 1) == 1;
}

static void measure(unsigned depth, unsigned long n)
{
    double start = cpu_time();

    deeper(depth, n);
    printf("%.1f ns per pair\n", n ? (cpu_time() - start) / n : 0);
}

int main(int argc, char **argv)
{
    unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
    unsigned depth = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    unsigned long live = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    int waits = getenv("ALLOCS_WAIT") != NULL;

    setvbuf(stdout, output, _IOLBF, sizeof(output));
    if (waits)
        printf("ready %d\n", (int)getpid());
    if (waits && !wait_byte())
        return 0;
    keep(live);
    do
        measure(depth, n);
    while (waits && wait_byte());
    return 0;
}
