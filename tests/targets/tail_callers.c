/* Calls inner 101 times through outer, which ends in a jump to it, and 23 times from direct; passed, whose variable
 * only its callers know, as often. Compiled with -O2. */
#include "noinline.h"

static volatile long sink;

NOINLINE long inner(long a)
{
    __asm__ volatile("");
    return a + 1;
}

NOINLINE long outer(long a)
{
    sink++;
    return inner(a * 3);
}

NOINLINE long direct(long a)
{
    long result = inner(a);
    sink++;
    return result;
}

NOINLINE long passed(long a, long b)
{
    a = a * 2 + b;
#ifdef __x86_64__
    __asm__ volatile("" : : : "rdi", "rsi", "memory");
#endif
    sink += a;
    return a; /* here b is what the caller has passed */
}

int main(void)
{
    for (int i = 0; i < 101; i++) {
        outer(i);
        sink += passed(7, 3);
    }
    for (int i = 0; i < 23; i++) {
        direct(i);
        sink += passed(5, 4);
    }
    return 0;
}
