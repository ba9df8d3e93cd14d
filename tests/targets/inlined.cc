/*
 * Functions that are inlined at some places and called at others. Called are get 7 times, by a pointer, shared_get 3
 * times, Counter::next 5 times, never_inlined 11 times; inlined are get at 2 places, which pass 23 and 101 times,
 * shared_get at 3 (13, 17 and 19 times), Counter::next at 2 (29 and 31 times). "inc" and "pairs" are functions that
 * have the names of methods: they are called 2 and 3 times.
 */
#include <cstdio>

#include "inlined.h"

volatile int total;

static int get(int n)
{
    total = total + n * 3;
    return total ^ n;
}

static int (*volatile pointer)(int) = get;
static int (*volatile shared_pointer)(int) = shared_get;
static int (Counter::*volatile next_pointer)() = &Counter::next;

NOINLINE int caller(int n)
{
    return get(n) + 1;
}
NOINLINE int other(int n)
{
    return get(n + 1) + 2;
}
NOINLINE int here(int n)
{
    return shared_get(n) + 5;
}
NOINLINE int counted(Counter &counter)
{
    return counter.next() + 1;
}
NOINLINE int never_inlined(int n)
{
    return total + n;
}
extern "C" NOINLINE int inc(int n)
{
    return total + 2 * n;
}
extern "C" NOINLINE int pairs(int n)
{
    return total + 3 * n;
}

int main()
{
    Counter counter = {0};
    int sum = 0;
    for (int i = 0; i < 7; i++)
        sum += pointer(i);
    for (int i = 0; i < 23; i++)
        sum += caller(i);
    for (int i = 0; i < 101; i++)
        sum += other(i);
    for (int i = 0; i < 3; i++)
        sum += shared_pointer(i);
    for (int i = 0; i < 13; i++)
        sum += wrap(i);
    for (int i = 0; i < 17; i++)
        sum += here(i);
    for (int i = 0; i < 19; i++)
        sum += other_file(i);
    for (int i = 0; i < 5; i++)
        sum += (counter.*next_pointer)();
    for (int i = 0; i < 29; i++)
        sum += counted(counter);
    for (int i = 0; i < 31; i++)
        sum += counter.next();
    for (int i = 0; i < 11; i++)
        sum += never_inlined(i);
    for (int i = 0; i < 2; i++)
        sum += inc(i);
    for (int i = 0; i < 3; i++)
        sum += pairs(i);
    std::printf("%d\n", sum & 0);
}
