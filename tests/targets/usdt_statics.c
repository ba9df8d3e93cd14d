/*
 * USDT probes whose arguments are variables that each of the program's files has by the same names. usdt_statics_too.c
 * is the other one. t:rip is hit 3 times with -5 and -300, and 3 times with 77 and 1234; t:inside 3 times with 11, and
 * 3 times with 22, in functions that are static; t:count 3 times with 101, and 3 times with 23, which functions have to
 * themselves.
 */
#include "usdt_statics.h"

static volatile signed char ti = -5;
static volatile short g_s = -300;

static NOINLINE void inside(void)
{
    static volatile int own = 101;
    __asm__ volatile(USDT("t", "inside", "-4@%0")::"nor"(in_file));
    __asm__ volatile(USDT("t", "count", "-4@%0")::"nor"(own));
}

int main(void)
{
    in_file = 11;
    for (int i = 0; i < 3; i++) {
        __asm__ volatile(USDT("t", "rip", "-1@%0 -2@%1")::"nor"(ti), "nor"(g_s));
        inside();
        other();
    }
    return 0;
}
