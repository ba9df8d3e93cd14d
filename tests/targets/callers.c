/*
 * Calls hit() 23 times from one place of first(), 101 times from another, and 7 times from second(); and leave(), which
 * does not return, as the last thing that last() does: behind that call another function begins. `callers twice` starts
 * itself once more before that, and waits for it.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noinline.h"

static volatile long sink;

NOINLINE void hit(long n)
{
    sink = n;
}

NOINLINE void first(void)
{
    for (long i = 0; i < 23; i++) {
        hit(i);
        sink++;
    }
    for (long i = 0; i < 101; i++) {
        hit(100 + i);
        sink++;
    }
}

NOINLINE void second(void)
{
    for (long i = 0; i < 7; i++) {
        hit(1000);
        sink++;
    }
}

NOINLINE __attribute__((noreturn)) void leave(void)
{
    _exit(0);
}

NOINLINE __attribute__((noreturn)) void last(void)
{
    leave();
}

/* Stands behind last(), and is never called. */
NOINLINE void behind(void)
{
    sink = 5;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        if (fork() == 0) {
            execl("/proc/self/exe", argv[0], (char *)NULL);
            _exit(1);
        }
        wait(NULL);
    }
    first();
    second();
    last();
}
