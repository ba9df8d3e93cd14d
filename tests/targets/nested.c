/*
 * Uses malloc, calloc, realloc and free a known number of times; to be run with libshim.so in LD_PRELOAD. Leaks 23
 * blocks of 1,000 bytes in leak_nested and frees 101 others.
 *
 *   nested [wait]     prints "ready PID" first and waits for a byte on stdin; another byte ends it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "noinline.h"

static void *volatile keep[23];

NOINLINE void leak_nested(unsigned i)
{
    void *block = i % 2 ? calloc(1, 1000) : realloc(malloc(10), 1000);

    keep[i] = block;
}

NOINLINE void no_leak(unsigned i)
{
    void *block = i % 2 ? malloc(i) : calloc(i + 1, 8);

    __asm__ volatile("" : "+r"(block) : : "memory");
    free(block);
}

static int wait_byte(void)
{
    char byte;

    return read(0, &byte, 1) == 1;
}

int main(int argc, char **argv)
{
    static char output[4096];
    int waits = argc > 1 && !strcmp(argv[1], "wait");

    setvbuf(stdout, output, _IOLBF, sizeof(output));
    if (waits) {
        printf("ready %d\n", (int)getpid());
        wait_byte();
    }
    for (unsigned i = 0; i < 23; i++)
        leak_nested(i);
    for (unsigned i = 0; i < 101; i++)
        no_leak(i);
    printf("allocations %d frees %d leaked 23 bytes 23000\n", 23 + 12 + 101, 12 + 101);
    if (waits)
        wait_byte();
    return 0;
}
