/*
 * heapful BLOCKS BYTES [check]: prints "ready", waits for a byte, allocates so many blocks in a list, prints "full",
 * and then how often each tenth of a second it has computed what it computes all the time, until it is killed. With
 * "check", built with LeakSanitizer: it prints instead how many milliseconds that takes to look for leaks.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    long blocks = argc > 1 ? atol(argv[1]) : 1000, bytes = argc > 2 ? atol(argv[2]) : 1000;
    char byte;
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    if (read(0, &byte, 1) != 1)
        return 1;
    void **first = NULL;
    for (long i = 0; i < blocks; i++) {
        void **block = malloc((size_t)bytes);
        if (!block)
            return 1;
        memset(block, 1, (size_t)bytes);
        *block = first;
        if (i % 100) /* one in a hundred is lost */
            first = block;
    }
    puts("full");
    if (argc > 3) {
        double began = now(CLOCK_MONOTONIC);
        __lsan_do_recoverable_leak_check();
        printf("%.1f\n", 1000 * (now(CLOCK_MONOTONIC) - began));
        _exit(0); /* not once more at the exit */
    }
    uint64_t x = (uintptr_t)first;
    for (double begin = now(CLOCK_THREAD_CPUTIME_ID);;) {
        long rounds = 0;
        for (double end = begin + 0.1; (begin = now(CLOCK_THREAD_CPUTIME_ID)) < end; rounds++)
            for (int i = 0; i < 1000; i++)
                x = x * 6364136223846793005u + 1;
        printf("%ld %d\n", rounds, (int)(x >> 63));
    }
}
