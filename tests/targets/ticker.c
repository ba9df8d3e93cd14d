/*
 * Calls the local function step() every 5 ms, which allocates 1,000 bytes that are never freed, until it is killed.
 *
 *   ticker [NAME [TIMES [told]]]     calls itself NAME, as threads do; ends after TIMES calls, of those behind a
 *                                    SIGUSR1 if it is to be told
 *
 * Prints "ready PID ADDRESS" first, ADDRESS being step's.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "noinline.h"

static NOINLINE void *step(void)
{
    void *block = malloc(1000);

    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

static volatile sig_atomic_t is_ending = 1;

static void on_signal(int signal)
{
    (void)signal;
    is_ending = 1;
}

int main(int argc, char **argv)
{
    long times = argc > 2 ? atol(argv[2]) : -1;

    if (argc > 3) {
        is_ending = 0;
        signal(SIGUSR1, on_signal);
    }
    if (argc > 1)
        prctl(PR_SET_NAME, argv[1]);
    printf("ready %d %ju\n", (int)getpid(), (uintmax_t)(uintptr_t)step);
    fflush(stdout);
    for (long i = 0; i != times; i += is_ending) {
        if (!step())
            return 1;
        usleep(5000);
    }
    return 0;
}
