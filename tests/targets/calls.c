/*
 * Calls functions with known arguments a known, prime number of times and prints what it did.
 *
 *   calls [THREADS [wait]]     1 or 4 threads; with "wait" it prints "ready PID" first and waits for a byte on stdin
 *
 * Per thread T (0, 1, …):
 *   add3(i, 2i, T)        23 times, i = 0 … 22; returns the sum
 *   negative(i)          101 times, i = 0 … 100; returns the int -i - 1
 *   factorial_depth(101)   once from outside: 101 nested calls with n = 101 … 1; returns n * (n + 1) / 2
 *   six(1, 2, 3, 4, 5, 6) 23 times; returns 21
 *   slow(2)                once; sleeps for 2 ms
 *   name("uplua-23")      23 times; returns the length, 8
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "noinline.h"

NOINLINE long add3(long a, long b, long c)
{
    __asm__ volatile("");
    return a + b + c;
}

NOINLINE int negative(int n)
{
    __asm__ volatile("");
    return -n - 1;
}

NOINLINE unsigned long factorial_depth(unsigned long n)
{
    unsigned long rest = 0;

    if (n > 1)
        rest = factorial_depth(n - 1);
    __asm__ volatile("" : "+r"(rest));
    return rest + n;
}

NOINLINE long six(long a, long b, long c, long d, long e, long f)
{
    __asm__ volatile("");
    return a + b + c + d + e + f;
}

NOINLINE void slow(unsigned milliseconds)
{
    struct timespec t = {.tv_nsec = milliseconds * 1000000L};

    nanosleep(&t, NULL);
    __asm__ volatile("");
}

NOINLINE size_t name(const char *text)
{
    __asm__ volatile("");
    return strlen(text);
}

static void *work(void *argument)
{
    long t = (long)(intptr_t)argument, sum = 0;

    for (long i = 0; i < 23; i++)
        sum += add3(i, 2 * i, t);
    for (int i = 0; i < 101; i++)
        sum += negative(i);
    sum += (long)factorial_depth(101);
    for (int i = 0; i < 23; i++)
        sum += six(1, 2, 3, 4, 5, 6);
    slow(2);
    for (int i = 0; i < 23; i++)
        sum += (long)name("uplua-23");
    return (void *)(intptr_t)sum;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t threads[64];
    long sum = 0;

    if (count < 1 || count > 64) {
        fprintf(stderr, "usage: calls [THREADS [wait]]\n");
        return 2;
    }
    if (argc > 2 && !strcmp(argv[2], "wait")) {
        char byte;
        printf("ready %d\n", (int)getpid());
        fflush(stdout);
        if (read(0, &byte, 1) < 0)
            return 1;
    }
    if (count == 1) {
        sum = (long)(intptr_t)work(NULL);
    } else {
        for (intptr_t i = 0; i < count; i++)
            if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
                return 1;
        for (int i = 0; i < count; i++) {
            void *result = NULL;
            pthread_join(threads[i], &result);
            sum += (long)(intptr_t)result;
        }
    }
    printf("add3 %d negative %d factorial_depth %d six %d slow %d name %d sum %ld\n", 23 * count, 101 * count,
           101 * count, 23 * count, count, 23 * count, sum);
    return 0;
}
