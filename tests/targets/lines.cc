/*
 * Lines whose code is inlined, merged and put apart by optimisers: "RUNS 23" behind a line says how often it runs,
 * "RUNS gcc 23" what only GCC keeps so (clang unrolls the loop).
 */
#include <cstdio>

#include "noinline.h"

volatile int sink, out;

// What the second statement returns is computed by the caller's next instruction: rows without length.
static inline int scaled(int i)
{
    sink = i * 5; // RUNS 69
    return i;
}

static inline int next(int a)
{
    int r = a + 1;
    out = r; // RUNS 46
    return r;
}

NOINLINE int both(int i)
{
    int t = scaled(i);
    t += next(i);
    return t;
}

static int (*volatile pointer)(int) = scaled;

// Copies side by side.
static inline int square(int x)
{
    sink = x * x; // RUNS 69
    return x * x;
}

static int (*volatile square_pointer)(int) = square;

// Split into what returns at once and the rest, which are both inlined into main.
int split(int *p)
{
    if (!p)
        return 0;
    for (int i = 0; i < 100; i++)
        sink = *p * i; // RUNS gcc 1200
    return sink;
}

// Of which compilers put a part apart, since it seldom runs.
NOINLINE int seldom(int i)
{
    try {
        if (i % 5 == 0) // RUNS 23
            throw i;
        sink = 1; // RUNS 19
    } catch (int x) {
        sink = x; // RUNS 4
    }
    return i;
}

int main()
{
    int t = 0;
    for (int i = 1; i <= 23; i++) {
        t += both(i);
        t += scaled(i);
        t += next(i);
        t += pointer(i);
    }
    for (int i = 1; i <= 23; i++) {
        t += square(i) + square(i + 1);
        t += square_pointer(i);
    }
    for (int i = 1; i <= 23; i++)
        t += split(i & 1 ? &i : nullptr);
    for (int i = 1; i <= 23; i++)
        t += seldom(i);
    std::printf("%d\n", t);
    return 0;
}
