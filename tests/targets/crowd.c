/*
 * Many threads that pass probes of every kind all the time, and check that no probe has changed what they compute.
 *
 *   crowd THREADS     prints "ready PID"; until the end of its input each thread T does this again and again: it calls
 *                     deed(I, T), which returns I + T, and deep(7), which calls itself and returns 7; it passes the
 *                     USDT probes app:deed and, only while its semaphore is above 0, app:guarded, writes `watched`,
 *                     and calls getppid
 *
 * Prints "right" at the end, or the first result that was wrong, and fails then.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../examples/usdt.h"
#include "noinline.h"

enum { DEPTH = 7 };

__attribute__((section(".probes"), used)) volatile unsigned short app_guarded_semaphore;

volatile long watched;
static atomic_bool is_over, is_wrong;

static NOINLINE long deed(long i, long thread)
{
    __asm__ volatile("" : "+r"(i), "+r"(thread) : : "memory");
    return i + thread;
}

static NOINLINE int deep(int left)
{
    __asm__ volatile("" : "+r"(left) : : "memory");
    return left > 0 ? deep(left - 1) + 1 : 0;
}

static void check(const char *what, long got, long wanted)
{
    if (got != wanted && !atomic_exchange(&is_wrong, 1))
        printf("%s returned %ld for %ld\n", what, got, wanted);
}

static void *act(void *number)
{
    long thread = (long)number;

    for (long i = 0; !atomic_load(&is_over); i++) {
        check("deed", deed(i, thread), i + thread);
        check("deep", deep(DEPTH), DEPTH);
        __asm__ volatile(USDT("app", "deed", "-8@%0 -8@%1")::"nor"(i), "nor"(thread));
        if (__builtin_expect(app_guarded_semaphore, 0))
            __asm__ volatile(USDT_GUARDED("app", "guarded", "app_guarded_semaphore", "-8@%0")::"nor"(i));
        watched = i;
        getppid();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t threads[64];

    if (count < 1 || count > 64)
        return 2;
    for (long i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, act, (void *)i) != 0)
            return 1;
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    atomic_store(&is_over, 1);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    if (atomic_load(&is_wrong))
        return 1;
    printf("right\n");
    return 0;
}
