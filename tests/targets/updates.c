/*
 * Calls one function from several threads at once, for tests that lose no update.
 *
 *   updates THREADS COUNT     the threads call step(i) COUNT times together, i = 0 … COUNT - 1; step calls within(i)
 *
 * Prints "updates COUNT".
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "noinline.h"

static long threads, count;

NOINLINE long within(long i)
{
    __asm__ volatile("");
    return i;
}

NOINLINE long step(long i)
{
    long result = within(i);

    __asm__ volatile("" : "+r"(result));
    return result;
}

static void *work(void *argument)
{
    long first = (long)(intptr_t)argument, sum = 0;

    for (long i = first; i < count; i += threads)
        sum += step(i);
    return (void *)(intptr_t)sum;
}

int main(int argc, char **argv)
{
    pthread_t ids[64];

    threads = argc > 1 ? atol(argv[1]) : 0;
    count = argc > 2 ? atol(argv[2]) : 0;
    if (threads < 1 || threads > 64) {
        fprintf(stderr, "usage: updates THREADS COUNT\n");
        return 2;
    }
    for (intptr_t i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, work, (void *)i) != 0)
            return 1;
    for (long i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    printf("updates %ld\n", count);
    return 0;
}
