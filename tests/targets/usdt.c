/*
 * Passes USDT probes a known, prime number of times and prints what it did.
 *
 *   usdt [THREADS [wait]]     1 or 4 threads; with "wait" it prints "ready PID" first and waits for a byte on stdin
 *
 * Per thread T (0, 1, …):
 *   app:counter     101 times: (i, T): i counts up from 0
 *   app:widths       23 times: (int8, uint8, int16, uint16, int32, uint32, int64, uint64), each -23 - i, cut to its
 *                    size
 *   app:text         23 times: (an address of "uplua-23", its length 8)
 *   app:places        4 sites, 23 times each: (i, a number of the site): in registers (twice), in memory, a constant
 *   app:global       23 times: (a global variable: 2310 + T is its sum with), where the compiler says symbol(%rip)
 *   app:indexed      23 times: (table[i]), base and index
 *   app:fraction      7 times: (i, i / 2 as a double)
 *   app:guarded      only while its semaphore is above 0: 101 times otherwise nothing; (i)
 *   app:none         23 times: no argument
 *   other:counter     7 times: (i + 1000)
 * Prints "guarded N": how often it saw the semaphore above 0.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../examples/usdt.h"
#include "noinline.h"

#define PROBE(name, arguments, ...) __asm__ volatile(USDT("app", name, arguments)::__VA_ARGS__)

#ifdef __x86_64__
#define INDEXED "8@(%0,%1,8)"
#define GLOBAL "m"
#else
#define INDEXED "8@[%0, %1, lsl 3]"
#define GLOBAL "r" /* in memory it would be at [x1, #:lo12:global_number], of which x1 is known, and no more */
#endif

enum { MANY = 101, SOME = 23, FEW = 7 };

__attribute__((section(".probes"), used)) volatile unsigned short app_guarded_semaphore;
int64_t global_number = 2310;
static const uint64_t table[SOME] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6};
static unsigned guarded;

NOINLINE void count(long thread)
{
    for (uint64_t i = 0; i < MANY; i++)
        PROBE("counter", "8@%0 -4@%1", "nor"(i), "nor"((int)thread));
}

NOINLINE void widths(int64_t n)
{
    PROBE("widths", "-1@%0 1@%1 -2@%2 2@%3 -4@%4 4@%5 -8@%6 8@%7", "nor"((int8_t)n), "nor"((uint8_t)n),
          "nor"((int16_t)n), "nor"((uint16_t)n), "nor"((int32_t)n), "nor"((uint32_t)n), "nor"(n), "nor"((uint64_t)n));
}

NOINLINE void text(const char *string)
{
    PROBE("text", "8@%0 8@%1", "nor"(string), "nor"(strlen(string)));
}

NOINLINE void places(int i)
{
    volatile int on_stack = i;
    PROBE("places", "-4@%0 -4@%1", "r"(i), "n"(1));
    PROBE("places", "-4@%0 -4@%1", "m"(on_stack), "n"(2));
    PROBE("places", "-4@%0 -4@%1", "n"(-3), "n"(3));
    PROBE("places", "-4@%0 -4@%1", "r"(i), "n"(1));
}

NOINLINE void global(long thread)
{
    PROBE("global", "-8@%0 -8@%1", GLOBAL(global_number), "nor"(thread));
}

NOINLINE void indexed(const uint64_t *numbers, uint64_t i)
{
    PROBE("indexed", INDEXED, "r"(numbers), "r"(i));
}

NOINLINE void fraction(int i)
{
    double half = i / 2.0;
#ifdef __x86_64__
    PROBE("fraction", "-4@%0 8f@%1", "nor"(i), "x"(half));
#else
    PROBE("fraction", "-4@%0 8f@%d1", "nor"(i), "w"(half));
#endif
}

NOINLINE void guard(int i)
{
    if (!__builtin_expect(app_guarded_semaphore, 0))
        return;
    __atomic_add_fetch(&guarded, 1, __ATOMIC_RELAXED);
    __asm__ volatile(USDT_GUARDED("app", "guarded", "app_guarded_semaphore", "-4@%0")::"nor"(i));
}

NOINLINE void none(void)
{
    PROBE("none", "");
}

NOINLINE void other(unsigned short i)
{
    __asm__ volatile(USDT("other", "counter", "2@%0")::"nor"(i));
}

static void *work(void *context)
{
    long thread = (long)context;
    char string[] = "uplua-23";

    count(thread);
    for (int i = 0; i < SOME; i++) {
        widths(-23 - i);
        text(string);
        places(i);
        global(thread);
        indexed(table, (uint64_t)i);
        none();
    }
    for (int i = 0; i < FEW; i++) {
        fraction(i);
        other((unsigned short)(i + 1000));
    }
    for (int i = 0; i < MANY; i++)
        guard(i);
    return NULL;
}

int main(int argc, char **argv)
{
    long threads = argc > 1 ? atol(argv[1]) : 1;
    pthread_t ids[16];

    if (argc > 2) {
        char byte;
        printf("ready %d\n", (int)getpid());
        fflush(stdout);
        if (read(0, &byte, 1) != 1)
            return 1;
    }
    if (threads < 1 || threads > 16)
        return 2;
    for (long t = 1; t < threads; t++)
        if (pthread_create(&ids[t], NULL, work, (void *)t))
            return 1;
    work(NULL);
    for (long t = 1; t < threads; t++)
        pthread_join(ids[t], NULL);
    printf("guarded %u\n", guarded);
    fflush(stdout);
    if (argc > 2)
        while (getchar() != EOF)
            continue;
    return 0;
}
