/*
 * Calls the local function step() every 5 ms, which allocates 1,000 bytes that are never freed, until it is killed.
 *
 *   ticker [NAME [TIMES]]      calls itself NAME, as threads do; ends after TIMES calls
 *
 * Prints "ready PID ADDRESS" first, ADDRESS being step's.
 */
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

int main(int argc, char **argv)
{
    long times = argc > 2 ? atol(argv[2]) : -1;

    if (argc > 1)
        prctl(PR_SET_NAME, argv[1]);
    printf("ready %d %ju\n", (int)getpid(), (uintmax_t)(uintptr_t)step);
    fflush(stdout);
    for (long i = 0; i != times; i++) {
        if (!step())
            return 1;
        usleep(5000);
    }
    return 0;
}
