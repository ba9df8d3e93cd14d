/*
 *   pastimes [ROUNDS]
 *
 * Threads that spend their time in known ways: one computes for 200 ms of CPU time, one sleeps 23 times for 5 ms, one
 * waits 101 times for a byte that the main thread sends it each ms, one yields 1,009 times, one exits at once. At its
 * end each prints its name, its number, how long it lived, how long it ran and how long it waited for a CPU, in ns; the
 * last two as the kernel has them in /proc/thread-self/schedstat, 0 where it does not count them. The main thread
 * prints how long all of it took.
 *
 * With ROUNDS each counts its life from before it was made, and does so many times as much; a sixth thread waits for a
 * disk, 23 times in each round, and all of them are stopped for 101 ms.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLEEPS = 23, SLEEP_US = 5000, WAITS = 101, YIELDS = 1009, COMPUTES_MS = 200, SYNCS = 23, STOP_US = 101000 };

static int bytes[2], rounds = 1;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

static void compute(void)
{
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < (uint64_t)rounds * COMPUTES_MS * 1000000ULL)
        ;
}

static void sleeps(void)
{
    for (int i = 0; i < rounds * SLEEPS; i++)
        usleep(SLEEP_US);
}

static void waits(void)
{
    char byte;
    for (int i = 0; i < rounds * WAITS && read(bytes[0], &byte, 1) == 1; i++)
        ;
}

static void yields(void)
{
    for (int i = 0; i < rounds * YIELDS; i++)
        sched_yield();
}

static void exits(void)
{
}

static void syncs(void)
{
    char path[] = "build/pastimes.XXXXXX", byte = 0;
    int fd = mkstemp(path);
    for (int i = 0; i < rounds * SYNCS && fd >= 0; i++)
        if (pwrite(fd, &byte, 1, i) != 1 || fsync(fd))
            break;
    unlink(path);
}

static struct pastime {
    const char *name;
    void (*work)(void);
    pid_t tid;
    uint64_t begin, lived;
    unsigned long long ran, waited;
} pastimes[] = {
    {.name = "computes", .work = compute}, {.name = "sleeps", .work = sleeps}, {.name = "waits", .work = waits},
    {.name = "yields", .work = yields},    {.name = "exits", .work = exits},   {.name = "syncs", .work = syncs},
};

/* What is known is told by the main thread: nothing comes between the last look and the end. */
static void *spend(void *argument)
{
    struct pastime *pastime = argument;
    if (!pastime->begin)
        pastime->begin = clock_ns(CLOCK_MONOTONIC);
    pastime->tid = gettid();
    prctl(PR_SET_NAME, pastime->name);
    pastime->work();
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file && fscanf(file, "%llu %llu", &pastime->ran, &pastime->waited) != 2)
        pastime->ran = 0;
    if (file)
        fclose(file);
    pastime->lived = clock_ns(CLOCK_MONOTONIC) - pastime->begin;
    return NULL;
}

/* Has a child stop this process for a while. */
static void stop(void)
{
    pid_t parent = getpid(), child = fork();
    if (child) {
        waitpid(child, NULL, 0);
        return;
    }
    kill(parent, SIGSTOP);
    usleep(STOP_US);
    kill(parent, SIGCONT);
    _exit(0);
}

int main(int argc, char **argv)
{
    enum { ALL = sizeof pastimes / sizeof *pastimes };
    pthread_t threads[ALL];
    int count = argc > 1 ? ALL : ALL - 1;
    rounds = argc > 1 ? atoi(argv[1]) : 1;
    uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    if (pipe(bytes))
        return 1;
    for (int i = 0; i < count; i++) {
        pastimes[i].begin = argc > 1 ? clock_ns(CLOCK_MONOTONIC) : 0;
        if (pthread_create(&threads[i], NULL, spend, (void *)&pastimes[i]))
            return 1;
    }
    if (argc > 1)
        stop();
    for (int i = 0; i < rounds * WAITS; i++) {
        usleep(1000);
        if (write(bytes[1], "x", 1) != 1)
            return 1;
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < count; i++)
        printf("%s %d %llu %llu %llu\n", pastimes[i].name, (int)pastimes[i].tid, (unsigned long long)pastimes[i].lived,
               pastimes[i].ran, pastimes[i].waited);
    /* A thread that has been joined may still wait for a CPU to end on. */
    for (int i = 0; i < count; i++)
        while (!syscall(SYS_tgkill, getpid(), pastimes[i].tid, 0))
            usleep(100);
    usleep(1000);
    printf("all %llu\n", (unsigned long long)(clock_ns(CLOCK_MONOTONIC) - begin));
    return 0;
}
