/*
 * Functions that return in other ways than once, or not at all, a known, prime number of times.
 *
 *   returns [THREADS]
 *
 * Per thread, each thread waiting for the others before it ends:
 *   deep(101)            once: 101 nested calls with n = 101 … 1; returns n * (n + 1) / 2
 *   turn(66), twist(66)  once: they call each other, n = 66 … 1: 33 calls each; return n
 *   risky(5, jumps)      124 times: 5 nested calls with n = 5 … 1, of which the innermost leaves all five by longjmp in
 *                        23; otherwise they return n
 *   front(i)              23 times: jumps to back(i) at its end, which returns i + 1
 *   tries(23, 101)        once, around risky; returns 101
 * Then 23 threads, one after the other, call last(1), which ends the thread, and the first thread calls last(0) 101
 * times: it returns 7.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "noinline.h"

NOINLINE long deep(long n)
{
    long rest = n > 1 ? deep(n - 1) : 0;

    __asm__ volatile("" : "+r"(rest));
    return rest + n;
}

long twist(long n);

NOINLINE long turn(long n)
{
    long rest = n > 1 ? twist(n - 1) : 0;

    __asm__ volatile("" : "+r"(rest));
    return rest + 1;
}

NOINLINE long twist(long n)
{
    long rest = n > 1 ? turn(n - 1) : 0;

    __asm__ volatile("" : "+r"(rest));
    return rest + 1;
}

static __thread jmp_buf out;

NOINLINE long risky(long n, long jumps)
{
    long rest = 0;

    if (n == 1 && jumps)
        longjmp(out, 1);
    if (n > 1)
        rest = risky(n - 1, jumps);
    __asm__ volatile("" : "+r"(rest));
    return rest + 1;
}

NOINLINE long tries(volatile long jumps, volatile long calm)
{
    volatile long returned = 0;

    while (jumps > 0) {
        jumps--;
        if (setjmp(out) == 0)
            risky(5, 1);
    }
    while (calm > 0) {
        calm--;
        returned += risky(5, 0) == 5;
    }
    return returned;
}

NOINLINE long back(long n)
{
    __asm__ volatile("" : "+r"(n));
    return n + 1;
}

/* A jump at its end, as compilers make it of `return back(n)` at -O2. */
long front(long n);
__asm__(".text\n.globl front\n.type front, %function\nfront:\n"
#if defined(__x86_64__)
        "push %rbx\npop %rbx\njmp back\n"
#else
        "nop\nb back\n"
#endif
        ".size front, . - front\n");

NOINLINE long last(long ends)
{
    if (ends)
        pthread_exit(NULL);
    __asm__ volatile("");
    return 7;
}

static pthread_barrier_t all;

static void *work(void *argument)
{
    long sum = deep(101) + turn(66) + tries(23, 101);

    for (long i = 0; i < 23; i++)
        sum += front(i);
    pthread_barrier_wait(&all);
    (void)argument;
    return (void *)(intptr_t)sum;
}

static void *finish(void *argument)
{
    last(1);
    return argument;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t threads[64];
    long sum = 0;

    if (count < 1 || count > 64) {
        fprintf(stderr, "usage: returns [THREADS]\n");
        return 2;
    }
    pthread_barrier_init(&all, NULL, (unsigned)count);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, NULL))
            return 1;
    for (int i = 0; i < count; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        sum += (long)(intptr_t)result;
    }
    for (int i = 0; i < 23; i++) {
        if (pthread_create(threads, NULL, finish, NULL))
            return 1;
        pthread_join(*threads, NULL);
    }
    for (int i = 0; i < 101; i++)
        sum += last(0);
    printf("sum %ld\n", sum);
    return 0;
}
