/*
 * One of two libraries that tests/targets/turns.c has in one place, one after the other; TURN is its name, BYTES what a
 * block of it has. It calls back from TURN_inner, below TURN_outer. Neither needs a relocation.
 */
#include <stdlib.h>

#include "noinline.h"

#define PASTE(a, b) a##b
#define NAMED(a, b) PASTE(a, b)
#define EXPORTED __attribute__((visibility("default")))

/* As calls behind which something is still done, they keep their frames. */
NOINLINE static long NAMED(TURN, _inner)(long (*call)(long), long i)
{
    return call(i) + 1;
}

EXPORTED NOINLINE long NAMED(TURN, _outer)(long (*call)(long), long i)
{
    return NAMED(TURN, _inner)(call, i) + 1;
}

static void *volatile last;

/* Leaves a block behind. */
EXPORTED NOINLINE long NAMED(TURN, _leak)(void)
{
    last = malloc(BYTES);
    return last ? 1 : 0;
}
