/*
 * A cause with many stacks: make() allocates four things, at four places, and pair_up() calls it at two. At the end 23
 * pairs are held, and a few blocks of others, 52,590 bytes in 218 blocks:
 *
 *   make       34,224 bytes in 184 blocks, by pair_up() alone: 101, 211 and 401 bytes, and a copy of a text of 30
 *   lone       10,090 bytes in 10 blocks, 7 of them by left() and 3 by right()
 *   wrapped     5,533 bytes in 11 blocks, by xmalloc()
 *   stored      2,743 bytes in 13 blocks, by pool_alloc()
 *
 * Prints "ready PID" before that and waits for a byte on stdin, then prints "done" and waits for another byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "noinline.h"

enum { PAIRS = 23, LEFT = 7, RIGHT = 3, WRAPPED = 11, STORED = 13, BLOCKS = 218 };

static void *volatile kept[BLOCKS];
static unsigned count;
static char output[4096];

static void keep(void *block)
{
    if (!block)
        _exit(1);
    kept[count++] = block;
}

NOINLINE void *xmalloc(size_t bytes)
{
    void *block = malloc(bytes);

    __asm__ volatile("" : "+r"(block));
    return block;
}

NOINLINE void *pool_alloc(size_t bytes)
{
    void *block = malloc(bytes);

    __asm__ volatile("" : "+r"(block));
    return block;
}

NOINLINE void make(const char *text)
{
    keep(malloc(101));
    keep(calloc(1, 211));
    keep(strdup(text));
    keep(realloc(NULL, 401));
}

NOINLINE void pair_up(const char *text)
{
    make(text);
    __asm__ volatile("" : "+r"(text));
    make(text);
    __asm__ volatile("");
}

NOINLINE void lone(void)
{
    keep(malloc(1009));
    __asm__ volatile("");
}

NOINLINE void left(void)
{
    lone();
    __asm__ volatile("");
}

NOINLINE void right(void)
{
    lone();
    __asm__ volatile("");
}

NOINLINE void wrapped(void)
{
    keep(xmalloc(503));
    __asm__ volatile("");
}

NOINLINE void stored(void)
{
    keep(pool_alloc(211));
    __asm__ volatile("");
}

/* CALL N times, by one call in the code. */
#define TIMES(n, call)                                                                                                 \
    for (unsigned i = 0; i < (n); i++) {                                                                               \
        __asm__ volatile("" : "+r"(i));                                                                                \
        call;                                                                                                          \
    }

static void wait_byte(void)
{
    char byte;
    ssize_t n = read(0, &byte, 1);

    if (n < 0)
        _exit(1);
}

int main(void)
{
    setvbuf(stdout, output, _IOLBF, sizeof(output));
    printf("ready %d\n", (int)getpid());
    wait_byte();
    TIMES(PAIRS, pair_up("a text of thirty characters .."))
    TIMES(LEFT, left())
    TIMES(RIGHT, right())
    TIMES(WRAPPED, wrapped())
    TIMES(STORED, stored())
    for (unsigned i = 0; i < 101; i++) {
        void *block = malloc(1000 + i);

        __asm__ volatile("" : "+r"(block) : : "memory");
        free(block);
    }
    printf("done\n");
    wait_byte();
    return 0;
}
