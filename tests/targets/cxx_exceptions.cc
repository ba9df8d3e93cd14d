/*
 * cxx_exceptions: 23 exceptions are thrown in thrower(i) and pass through middle(i), which has nothing to clean up, to main, which catches them; then
 * calm(i) is called 101 times. Prints how many were caught, and what calm returned in all.
 */
#include <cstdio>

#include "noinline.h"

extern "C" {
NOINLINE void thrower(int i)
{
    throw i;
}

/* So that nobody knows that middle does not go on behind it. */
static void (*volatile throws)(int) = thrower;

NOINLINE int middle(int i)
{
    throws(i);
    return i + 1;
}

NOINLINE int calm(int i)
{
    return 2 * i;
}
}

int main()
{
    int caught = 0, sum = 0;
    for (int i = 0; i < 23; i++)
        try {
            middle(i);
        } catch (int thrown) {
            caught += thrown == i;
        }
    std::printf("caught %d\n", caught);
    std::fflush(stdout);
    for (int i = 0; i < 101; i++)
        sum += calm(i);
    std::printf("calm %d\n", sum);
    return 0;
}
