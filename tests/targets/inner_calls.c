/*
 * Calls within calls: outer calls inner, one instruction or so, so many times; deeper calls itself. Before each it
 * runs the same code under other names and prints what that took by its own clock: "outer 1000 123456", in ns.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Some 1 us of work that a clock has no part in. */
static inline __attribute__((always_inline)) long work(long n)
{
    for (int i = 0; i < 1000; i++)
        __asm__ volatile("" : "+r"(n));
    return n;
}

#define FAMILY(suffix)                                                                                                 \
    __attribute__((noinline)) long inner##suffix(long n)                                                               \
    {                                                                                                                  \
        return work(n);                                                                                                \
    }                                                                                                                  \
    __attribute__((noinline)) long outer##suffix(long count)                                                           \
    {                                                                                                                  \
        long sum = 0;                                                                                                  \
        for (long i = 0; i < count; i++)                                                                               \
            sum += inner##suffix(i);                                                                                   \
        return sum;                                                                                                    \
    }                                                                                                                  \
    __attribute__((noinline)) long deeper##suffix(long depth)                                                          \
    {                                                                                                                  \
        return work(depth) + (depth > 0 ? deeper##suffix(depth - 1) : 0);                                              \
    }

FAMILY()
FAMILY(_alone)

static void run(const char *name, long (*alone)(long), long (*traced)(long), long n)
{
    uint64_t began = now();
    volatile long sum = alone(n);
    printf("%s %ld %llu\n", name, n, (unsigned long long)(now() - began));
    sum += traced(n);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 101;
    long calls = argc > 2 ? atol(argv[2]) : 23;
    for (int i = 0; i < rounds; i++) {
        run("outer", outer_alone, outer, calls);
        run("outer", outer_alone, outer, 0);
        run("deeper", deeper_alone, deeper, 23);
    }
    return 0;
}
