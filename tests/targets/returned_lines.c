/* Calls that are followed by another line: one that has returned is on the line of the call. */
#include "noinline.h"

volatile int sink;

NOINLINE int called(int i)
{
    sink = i;
    return i;
}

static inline __attribute__((always_inline)) void inlined(int i)
{
    called(i); /* LINE inlined */
    sink++;
}

int main(void)
{
    for (int i = 0; i < 23; i++) {
        called(i); /* LINE first */
        sink++;
    }
    for (int i = 0; i < 101; i++) {
        inlined(i); /* LINE around */
        sink++;
    }
    return 0;
}
