/*
 * Functions of C++ whose names have brackets that hold no parameters: each is called 23 times.
 */
#include <cstdio>

#include "noinline.h"

struct Scale {
    int by;
    NOINLINE int operator()(int n) const
    {
        asm volatile("");
        return by * n;
    }
    NOINLINE int operator()(int n, int more) const
    {
        asm volatile("");
        return by * n + more;
    }
    NOINLINE int operator[](int n) const
    {
        asm volatile("");
        return n - by;
    }
};

namespace
{
NOINLINE int hidden(int n)
{
    asm volatile("");
    return n + 1;
}
} // namespace

int main()
{
    Scale twice = {2};
    auto lambda = [](int n) NOINLINE {
        asm volatile("");
        return n - 1;
    };
    int sum = 0;
    for (int i = 0; i < 23; i++)
        sum += twice(i) + twice(i, 1) + twice[i] + hidden(i) + lambda(i);
    printf("%d\n", sum);
}
