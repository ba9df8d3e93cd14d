/*
 * A program with many different stacks, for make bench: paths HITS PATHS FRAMES calls leaf() so many times, on PATHS
 * different ways through its functions, FRAMES calls deep.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void leaf(void);

__attribute__((noinline)) void leaf(void)
{
    __asm__ volatile("" ::: "memory");
}

static void step(uint64_t way, int deeper);

/* Functions that only their names and their calls' places tell apart. What stands behind the call keeps it one. */
#define FUNCTION(n)                                                                                                    \
    __attribute__((noinline)) void way_##n(uint64_t way, int deeper);                                                  \
    __attribute__((noinline)) void way_##n(uint64_t way, int deeper)                                                   \
    {                                                                                                                  \
        if (deeper > 0)                                                                                                \
            step(way, deeper - 1);                                                                                     \
        else                                                                                                           \
            leaf();                                                                                                    \
        __asm__ volatile("" ::"r"(n) : "memory");                                                                      \
    }
#define FOUR(a, b, c, d) FUNCTION(a) FUNCTION(b) FUNCTION(c) FUNCTION(d)
#define EIGHT(n) FOUR(n##0, n##1, n##2, n##3) FOUR(n##4, n##5, n##6, n##7)
EIGHT(1)
EIGHT(2)

#define NAMES(n) way_##n##0, way_##n##1, way_##n##2, way_##n##3, way_##n##4, way_##n##5, way_##n##6, way_##n##7
static void (*const functions[16])(uint64_t, int) = {NAMES(1), NAMES(2)};

/* The last calls differ most: what main calls is the same for most stacks, as in other programs. */
static inline __attribute__((always_inline)) void step(uint64_t way, int deeper)
{
    functions[(deeper < 16 ? way >> (4 * deeper) : 0) & 15](way, deeper);
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 1;
    long hits = atol(argv[1]), paths = atol(argv[2]);
    int frames = atoi(argv[3]);
    for (long i = 0; i < hits; i++)
        step((uint64_t)(i % paths) * 0x9e3779b97f4a7c15ULL >> 8, frames - 3);
    return 0;
}
