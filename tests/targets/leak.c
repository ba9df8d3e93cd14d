/*
 * A program whose leaks are known exactly. Four threads leak, between them, 23 blocks of 1,000 bytes in leak_small and
 * 7 blocks of 4,096 bytes in leak_large, below two levels of calls, and free 101 other blocks, which come from malloc,
 * calloc, realloc, reallocarray, posix_memalign and aligned_alloc.
 *
 *   leak           at once
 *   leak wait      prints "ready PID", waits for a byte on stdin, leaks, prints the truth, waits for another byte
 *   leak middle    leaks everything once before "ready" and holds 11 blocks that it frees afterwards: only what comes
 *                  after "ready" is in the truth that it prints
 *
 * Only work() allocates with the C library's allocator on purpose; the threads live through both rounds and stdout has
 * a static buffer, so that nothing else is allocated between "ready" and the truth.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "noinline.h"

enum { THREADS = 4, SMALL = 23, LARGE = 7, FREED = 101, HELD = 11, SMALL_BYTES = 1000, LARGE_BYTES = 4096 };

static void *volatile keep[2][SMALL + LARGE];
static void *volatile held[HELD];
static char output[4096];
static pthread_barrier_t barrier;
static unsigned rounds = 1;
static unsigned round_now;

static void *check(void *block)
{
    if (!block) {
        static const char message[] = "leak: out of memory\n";
        ssize_t written = write(2, message, sizeof(message) - 1);
        _exit(written > 0 ? 1 : 2);
    }
    return block;
}

/* The place of the 1,000 bytes. */
NOINLINE void leak_small(unsigned i)
{
    keep[round_now][i] = check(realloc(check(malloc(10)), SMALL_BYTES));
}

/* The place of the 4,096 bytes. */
NOINLINE void leak_large(unsigned i)
{
    void *block = NULL;

    if (posix_memalign(&block, 64, LARGE_BYTES) != 0)
        block = NULL;
    keep[round_now][SMALL + i] = check(block);
}

NOINLINE void leak_large_level2(unsigned i)
{
    leak_large(i);
    __asm__ volatile(""); /* not a tail call: the frame must stay */
}

NOINLINE void leak_large_level1(unsigned i)
{
    leak_large_level2(i);
    __asm__ volatile("");
}

/* Allocates and frees one block, each time in another way. */
NOINLINE void no_leak(unsigned i)
{
    void *block = NULL;

    switch (i % 6) {
    case 0:
        block = malloc(1 + i);
        break;
    case 1:
        block = calloc(i, 3);
        break;
    case 2:
        block = realloc(NULL, 100 + i);
        break;
    case 3:
        block = reallocarray(check(malloc(8)), i, 16);
        break;
    case 4:
        if (posix_memalign(&block, 256, 1 + i) != 0)
            block = NULL;
        break;
    default:
        block = aligned_alloc(128, 128 * i);
        break;
    }
    free(check(block));
}

/* CALL for every fourth I below COUNT from T on: one call in the code, and so in the stacks. */
static inline void share(unsigned t, unsigned count, void (*call)(unsigned i))
{
    for (unsigned i = t; i < count; i += THREADS) {
        __asm__ volatile("" : "+r"(i));
        call(i);
    }
}

/* The part of thread T in a round. */
NOINLINE void work(unsigned t)
{
    share(t, SMALL, leak_small);
    share(t, LARGE, leak_large_level1);
    share(t, FREED, no_leak);
}

static void *worker(void *argument)
{
    unsigned t = (unsigned)(uintptr_t)argument;

    for (unsigned round = 0; round < rounds; round++) {
        pthread_barrier_wait(&barrier);
        work(t);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void run_round(unsigned round)
{
    round_now = round;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
}

static void wait_byte(void)
{
    char byte;
    ssize_t n = read(0, &byte, 1);

    if (n < 0)
        _exit(1);
}

/* realloc and reallocarray of an existing block count as one allocation and one free, as in valgrind's summary. */
static void print_truth(void)
{
    unsigned moved = SMALL, allocated = SMALL + LARGE + FREED;

    for (unsigned i = 0; i < FREED; i++)
        moved += i % 6 == 3;
    printf("allocations %u frees %u leaked %u bytes %u old %u\n", allocated + moved, FREED + moved, SMALL + LARGE,
           SMALL * SMALL_BYTES + LARGE * LARGE_BYTES, rounds > 1 ? HELD : 0);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int middle = !strcmp(mode, "middle"), waits = middle || !strcmp(mode, "wait");
    pthread_t threads[THREADS];

    setvbuf(stdout, output, _IOLBF, sizeof(output));
    rounds = middle ? 2 : 1;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (uintptr_t t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, worker, (void *)t) != 0)
            return 1;
    if (middle) {
        for (unsigned i = 0; i < HELD; i++)
            held[i] = check(malloc(500 + i));
        run_round(0);
    }
    if (waits) {
        printf("ready %d\n", (int)getpid());
        wait_byte();
    }
    for (unsigned i = 0; i < HELD; i++)
        if (held[i])
            free(held[i]);
    run_round(rounds - 1);
    print_truth();
    if (waits)
        wait_byte();
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    return 0;
}
