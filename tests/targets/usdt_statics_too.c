/* The other file of usdt_statics. */
#include "usdt_statics.h"

static volatile signed char ti = 77;
static volatile short g_s = 1234;

static NOINLINE void inside(void)
{
    static volatile int own = 23;
    __asm__ volatile(USDT("t", "inside", "-4@%0")::"nor"(in_file));
    __asm__ volatile(USDT("t", "count", "-4@%0")::"nor"(own));
}

NOINLINE void other(void)
{
    in_file = 22;
    __asm__ volatile(USDT("t", "rip", "-1@%0 -2@%1")::"nor"(ti), "nor"(g_s));
    inside();
}
