// Calls `mark` where exceptions have brought the program: in a catch block, and in destructors that landing pads call.
//
//   pads KIND    caught (below 23 calls), cleaned (each of 23 calls that the exception passes has something to destroy),
//                rethrown (from a catch block below 101 calls to one above them)
#include <cstring>

#include "noinline.h"

static volatile long sink;

extern "C" NOINLINE void mark(void)
{
    __asm__ volatile("");
    sink = sink + 1;
}

extern "C" NOINLINE void thrower(void)
{
    sink = sink + 1;
    if (sink)
        throw sink;
}

extern "C" NOINLINE long catcher(long a, long b)
{
    try {
        thrower();
    } catch (long value) {
        mark();
        return value + a * b;
    }
    return a - b;
}

extern "C" NOINLINE long descend(long calls, long a, long b)
{
    long sum = calls == 1 ? catcher(a, b) : descend(calls - 1, a + 1, b * 2);
    return sum + a * b + calls;
}

extern "C" NOINLINE void destroy(long value)
{
    mark();
    sink = sink + value;
}

struct Guard {
    long value;
    ~Guard() { destroy(value); }
};

extern "C" NOINLINE long guarded(long calls, long a)
{
    Guard guard{a};
    if (calls == 1)
        thrower();
    else
        sink = sink + guarded(calls - 1, a + 1);
    return a + calls;
}

extern "C" NOINLINE long again(long calls, long a)
{
    if (calls > 1) {
        sink = sink + again(calls - 1, a * 3); /* in a loop, gcc would do with one frame */
        return a;
    }
    try {
        thrower();
    } catch (...) {
        mark();
        throw;
    }
    return a;
}

extern "C" NOINLINE long caught(void)
{
    return descend(23, 1, 2) + sink;
}

extern "C" NOINLINE long cleaned(void)
{
    try {
        guarded(23, 1);
    } catch (long) {
    }
    return sink;
}

extern "C" NOINLINE long rethrown(void)
{
    try {
        again(101, 1);
    } catch (long) {
        mark();
    }
    return sink;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    if (!std::strcmp(kind, "caught"))
        sink = caught();
    else if (!std::strcmp(kind, "cleaned"))
        sink = cleaned();
    else if (!std::strcmp(kind, "rethrown"))
        sink = rethrown();
    else
        return 2;
    return sink & 0;
}
