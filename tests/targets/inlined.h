/* What tests/targets/inlined.cc and inlined_too.cc share: both have code of it, of which the linker keeps one. */
#pragma once

#include "noinline.h"

extern volatile int total;

/* Inlined into wrap, and called by a pointer. */
inline int shared_get(int n)
{
    total = total + n;
    return total ^ n;
}

/* In both files, once in the program. */
NOINLINE inline int wrap(int n)
{
    return shared_get(n) + 1;
}

struct Counter {
    int n;
    /* A method that is inlined. */
    int next()
    {
        total = total + n;
        return n++;
    }
};

int other_file(int n);
