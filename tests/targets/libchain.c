/* What chain loads while it runs: calls back through two frames. */
#include "noinline.h"

static volatile long calls;

NOINLINE long inner(void (*back)(void))
{
    back();
    return ++calls;
}

NOINLINE long through(void (*back)(void))
{
    return inner(back) + calls;
}
