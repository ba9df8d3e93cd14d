/*
 * sorts_below: sorts 23 numbers by a callback, 101 times. Of a C library without unwind tables, as musl is, the frames
 * between cmp and sorts are qsort's own, whatever these are called. The last line, printed by main, is how often cmp
 * was called. Before that a second thread ticks 23 times.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "noinline.h"

enum { NUMBERS = 23, ROUNDS = 101 };

static long calls;

NOINLINE int cmp(const void *a, const void *b)
{
    calls++;
    return *(const int *)a - *(const int *)b;
}

NOINLINE void sorts(int seed)
{
    int numbers[NUMBERS];
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = (i * 7 + seed) % NUMBERS;
    qsort(numbers, NUMBERS, sizeof *numbers, cmp);
    __asm__ volatile("" : : "r"(numbers) : "memory");
}

NOINLINE void tick(void)
{
    __asm__ volatile("" : : : "memory");
}

static void *ticks(void *argument)
{
    for (int i = 0; i < NUMBERS; i++)
        tick();
    return argument;
}

int main(void)
{
    pthread_t thread;
    setbuf(stdout, NULL); /* printf writes itself */
    if (pthread_create(&thread, NULL, ticks, NULL) || pthread_join(thread, NULL))
        return 1;
    for (int i = 0; i < ROUNDS; i++)
        sorts(i);
    printf("%ld\n", calls);
    return 0;
}
