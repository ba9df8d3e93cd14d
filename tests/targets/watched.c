/*
 * Variables that are written and read a known number of times.
 *
 *   watched [wait]   101 writes of 1 to 101 to `counter`, negative ones to `small`, 23 to the second word of `pair` by
 *                    each of 4 threads, half of them created before it is ready; 23 reads of `quiet`, which nobody
 *                    writes; with a word, prints "ready" first and waits for a byte
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "noinline.h"

enum { WRITES = 101, THREADS = 4, EARLY = 2, EACH = 23 };

volatile long counter;
volatile short small;
volatile struct {
    int first, second;
} pair;
volatile int quiet = 7;
volatile char odd[64];
static volatile unsigned char lone;
static pthread_barrier_t start;

NOINLINE void count(long n)
{
    counter = n;
    small = (short)-n;
    lone = (unsigned char)n;
}

static void *early(void *number)
{
    pthread_barrier_wait(&start);
    for (int i = 0; i < EACH; i++)
        pair.second = (int)(long)number;
    return NULL;
}

static void *late(void *number)
{
    for (int i = 0; i < EACH; i++)
        pair.second = (int)(long)number;
    return NULL;
}

int main(int argc, char **argv)
{
    (void)argv;
    pthread_t threads[THREADS];
    pthread_barrier_init(&start, NULL, EARLY + 1);
    for (long i = 0; i < EARLY; i++)
        pthread_create(&threads[i], NULL, early, (void *)(i + 1));
    if (argc > 1) {
        char byte;
        printf("ready\n");
        fflush(stdout);
        if (read(STDIN_FILENO, &byte, 1) < 0)
            return 1;
    }
    pthread_barrier_wait(&start);
    for (long i = EARLY; i < THREADS; i++)
        pthread_create(&threads[i], NULL, late, (void *)(i + 1));
    int sum = 0;
    for (long i = 1; i <= WRITES; i++)
        count(i);
    for (int i = 0; i < EACH; i++)
        sum += quiet;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("done %d\n", sum);
    return 0;
}
