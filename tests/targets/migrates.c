/*
 * Moves to CPU 1 and back to CPU 0, 23 times each, by a function that is entered on the one and returns on the other:
 * move(1), move(0), … It begins on CPU 0. After each move it writes `moves` and passes the USDT probe migrates:moved
 * (the CPU). Exits with 77 where it may not run on both.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>

#include "../../examples/usdt.h"
#include "noinline.h"

enum { TIMES = 23 };

volatile long moves;

static int pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set);
}

NOINLINE int move(int cpu)
{
    int failed = pin(cpu);
    return failed ? -1 : sched_getcpu();
}

static int moved(int cpu)
{
    int now = move(cpu);
    moves++;
    __asm__ volatile(USDT("migrates", "moved", "-4@%0")::"nor"(now));
    return now == cpu;
}

int main(void)
{
    if (pin(0) || !moved(1) || !moved(0))
        return 77;
    for (int i = 0; i < TIMES; i++)
        if (!moved(1) || !moved(0))
            return 1;
    puts("moved");
    return 0;
}
