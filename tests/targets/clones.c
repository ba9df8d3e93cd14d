/*
 * A function of which gcc makes a clone for those of its callers that pass a constant (-O3 -fipa-cp-clone). It is
 * called 6 times with the mode 5, so that calc.constprop.0 is what runs, and 2 times by a pointer.
 */
#include <stdio.h>

static volatile int s;

__attribute__((noinline)) static int calc(int a, int mode)
{
    if (mode == 5) {
        s = a;
        for (int i = 0; i < a; i++)
            s += i * 3;
        return s;
    }
    s = mode;
    for (int i = 0; i < mode; i++)
        s -= i * 7 ^ a;
    return s;
}

static int (*volatile by_pointer)(int, int) = calc;

int main(void)
{
    for (int i = 0; i < 6; i++)
        s = calc(i, 5);
    for (int i = 0; i < 2; i++)
        s = by_pointer(i, 9);
    puts("calc is called 8 times");
    return 0;
}
