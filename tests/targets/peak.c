/*
 * A program of which it is known when it holds the most, and who does then; that holds more from round to round; and
 * what it has allocated in all.
 *
 *   peak            the peak: 100 blocks of 1,000 bytes of early() and 50 of 2,000 of late(), of which 25 come by
 *                   realloc; then all of them are freed but 7 of late(), and after() makes 30 of 100 bytes
 *   peak grow       prints "ready", waits for a byte, then each 20 ms another block of grow(), 1,000 bytes, and one of
 *                   steady() in place of the last one, until it is killed
 *   peak threads    ends while three other threads sleep
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "noinline.h"

enum { EARLY = 100, LATE = 50, LEFT = 7, AFTER = 30, ROUNDS = 100000 };

static void *volatile early_blocks[EARLY], *volatile late_blocks[LATE], *volatile after_blocks[AFTER];
static void *volatile grown[ROUNDS], *volatile steady_block;
static char output[4096];

static void *check(void *block)
{
    if (!block)
        _exit(3);
    return block;
}

NOINLINE void early(int i)
{
    early_blocks[i] = check(malloc(1000));
}

NOINLINE void late(int i)
{
    late_blocks[i] = check(i % 2 ? realloc(check(malloc(10)), 2000) : malloc(2000));
}

NOINLINE void after(int i)
{
    after_blocks[i] = check(calloc(1, 100));
}

NOINLINE void grow(int i)
{
    grown[i] = check(malloc(1000));
}

NOINLINE void steady(int i)
{
    free(steady_block);
    steady_block = check(malloc(5000 + (size_t)(i % 2)));
}

static void hold_the_most(void)
{
    for (int i = 0; i < EARLY; i++)
        early(i);
    for (int i = 0; i < LATE; i++)
        late(i);
    for (int i = 0; i < EARLY; i++)
        free(early_blocks[i]);
    for (int i = LEFT; i < LATE; i++)
        free(late_blocks[i]);
    for (int i = 0; i < AFTER; i++)
        after(i);
}

static void *sleeper(void *context)
{
    pause();
    return context;
}

int main(int argc, char **argv)
{
    char byte;
    setvbuf(stdout, output, _IOLBF, sizeof output);
    if (argc < 2) {
        hold_the_most();
        return 0;
    }
    if (!strcmp(argv[1], "threads")) {
        pthread_t threads[3];
        for (int i = 0; i < 3; i++)
            if (pthread_create(&threads[i], NULL, sleeper, NULL))
                return 1;
        return 0;
    }
    if (strcmp(argv[1], "grow"))
        return 2;
    puts("ready");
    if (read(0, &byte, 1) != 1)
        return 1;
    for (int i = 0; i < ROUNDS; i++) {
        grow(i);
        steady(i);
        usleep(20000);
    }
    return 0;
}
