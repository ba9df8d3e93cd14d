// What users of other tracers have reported in public of C++ programs (doc/reports.md): reports_cxx, without arguments.
#include <cstdio>

#include "noinline.h"

#define KEEP(value) __asm__ volatile("" : : "g"(value) : "memory")

// Its name begins as main's; called 23 times.
NOINLINE bool main_test()
{
    KEEP(0);
    return false;
}

// Gate::is_open() is called 7 times, Gate::is_open(int) 101 times, with -1, -2, …
struct Gate {
    int opened = 0;
    bool is_open();
    bool is_open(int which);
};

NOINLINE bool Gate::is_open()
{
    KEEP(this);
    return opened;
}

NOINLINE bool Gate::is_open(int which)
{
    KEEP(which);
    return opened == which;
}

// Throws, catches and throws again, if its number is odd: caught by main. Returns 12 of 23 times.
struct Failure {
    int number;
};

NOINLINE int rethrows(int i)
{
    try {
        if (i % 2 != 0)
            throw Failure{i};
    } catch (const Failure &) {
        throw;
    }
    return i;
}

NOINLINE int returns(int i)
{
    KEEP(i);
    return i;
}

int main()
{
    Gate gate;
    int caught = 0;

    for (int i = 0; i < 23; i++)
        main_test();
    for (int i = 0; i < 7; i++)
        gate.is_open();
    for (int i = 1; i <= 101; i++)
        gate.is_open(-i);
    for (int i = 0; i < 23; i++) {
        try {
            rethrows(i);
        } catch (const Failure &failure) {
            caught += failure.number == i;
        }
        returns(i);
    }
    std::printf("%d\n", caught);
    return 0;
}
