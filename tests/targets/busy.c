/*
 * Keeps a CPU busy for a known time below a known chain of calls; built without frame pointers. At the end it prints
 * the milliseconds of CPU time that the process has used.
 *
 *   busy user [S]   S seconds, 1 if not given: computing, 23 calls of `descend` below main
 *   busy kernel [S] the same in the kernel, which copies zeros, below the same calls
 *   busy calls      calls tick(i) 100,003 times
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "noinline.h"

enum { CALLS = 23, TICKS = 100003 };

static double seconds = 1;
static volatile long sink;
static char zeros[1 << 20];

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

NOINLINE long compute(void)
{
    long sum = 0;
    for (long i = 0; i < 20000000; i++)
        sum += i ^ sink;
    return sum;
}

NOINLINE long copy(void)
{
    int fd = open("/dev/zero", O_RDONLY);
    long sum = 0;
    for (int i = 0; i < 100; i++)
        sum += read(fd, zeros, sizeof zeros);
    close(fd);
    return sum;
}

NOINLINE long tick(long i)
{
    return i + sink;
}

NOINLINE long descend(long calls, long (*work)(void))
{
    long sum = 0;
    if (calls > 1)
        sum = descend(calls - 1, work);
    else
        while (cpu_seconds() < seconds)
            sum += work();
    return sum + sink + calls;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (argc > 2)
        seconds = atof(argv[2]);
    if (!strcmp(argv[1], "calls"))
        for (long i = 0; i < TICKS; i++)
            sink = tick(i) & 1;
    else
        sink = descend(CALLS, strcmp(argv[1], "kernel") ? compute : copy);
    printf("used %.0f ms\n", cpu_seconds() * 1000);
    return 0;
}
