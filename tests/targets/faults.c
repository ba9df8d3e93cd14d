/*
 * Events that the kernel counts, a known number of them. Built as all targets; prints "ready" and waits for a byte
 * where there is a third word.
 *
 *   faults pages [wait]      THREADS threads, half of them there from the start, and main each touch PAGES fresh pages;
 *                            prints "region START END" for each
 *   faults switches [wait]   101 sleeps between mark(1) and mark(0); prints "switches N to M", as getrusage counts
 *                            them: those in between surely, and all that can be
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "noinline.h"

enum { PAGES = 101, THREADS = 23, EARLY = 11, SLEEPS = 101, PAGE = 4096 };

static pthread_barrier_t start;

NOINLINE void mark(long on)
{
    __asm__ volatile("" : : "r"(on));
}

/* Not mapped by anybody before: no address has another fault. */
static char regions[THREADS + 1][PAGES * PAGE] __attribute__((aligned(PAGE)));

static void touch(long number)
{
    volatile char *region = regions[number];
    for (int i = 0; i < PAGES; i++)
        region[i * PAGE] = 1;
    printf("region %p %p\n", (void *)region, (void *)(region + PAGES * PAGE));
}

static void *early(void *number)
{
    pthread_barrier_wait(&start);
    touch((long)number);
    return NULL;
}

static void *late(void *number)
{
    touch((long)number);
    return NULL;
}

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void ready(int waits)
{
    if (!waits)
        return;
    printf("ready\n");
    fflush(stdout);
    char byte;
    if (read(STDIN_FILENO, &byte, 1) < 0)
        return;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (!strcmp(argv[1], "switches")) {
        ready(argc > 2);
        long outer = switches();
        mark(1);
        long before = switches();
        for (int i = 0; i < SLEEPS; i++)
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        long after = switches();
        mark(0);
        printf("switches %ld to %ld\n", after - before, switches() - outer);
        return 0;
    }
    pthread_t threads[THREADS];
    madvise(regions, sizeof regions, MADV_NOHUGEPAGE);
    pthread_barrier_init(&start, NULL, EARLY + 1);
    for (int i = 0; i < EARLY; i++)
        pthread_create(&threads[i], NULL, early, (void *)(long)i);
    ready(argc > 2);
    pthread_barrier_wait(&start);
    for (int i = EARLY; i < THREADS; i++)
        pthread_create(&threads[i], NULL, late, (void *)(long)i);
    touch(THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    fflush(stdout);
    return 0;
}
