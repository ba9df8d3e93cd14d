/*
 * in_and_exec: threads and programs that are called "in" for a part of their lives. Four threads begin something,
 * by begins(), as "in"; two of them are called "out" when they end. Then 23 blocks of 100 bytes are allocated as "in",
 * and the program executes itself: as "in" again, it allocates 5 of 40 bytes, and ends as "out" after 50 ms. Nothing
 * calls ends().
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "noinline.h"

NOINLINE void begins(long number)
{
    __asm__ volatile("" : : "r"(number) : "memory");
}

NOINLINE void ends(long number)
{
    __asm__ volatile("" : : "r"(number) : "memory");
}

static void *thread(void *number)
{
    prctl(PR_SET_NAME, "in");
    begins((long)number);
    if ((long)number % 2)
        prctl(PR_SET_NAME, "out");
    return NULL;
}

static void allocate(int count, size_t size)
{
    for (int i = 0; i < count; i++)
        __asm__ volatile("" : : "r"(malloc(size)) : "memory");
}

int main(int argc, char **argv)
{
    (void)argv;
    prctl(PR_SET_NAME, "in");
    if (argc > 1) {
        allocate(5, 40);
        usleep(50000);
        prctl(PR_SET_NAME, "out");
        if (argc > 2)
            ends(argc);
        return 0;
    }
    for (long i = 0; i < 4; i++) {
        pthread_t one;
        if (pthread_create(&one, NULL, thread, (void *)i) || pthread_join(one, NULL))
            return 1;
    }
    allocate(23, 100);
    execl("/proc/self/exe", "in_and_exec", "again", (char *)NULL);
    return 1;
}
