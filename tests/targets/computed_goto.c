/*
 * Interpreters of a little code, which go to each operation by what compilers make of `switch` and of `goto *`: by
 * addresses, by distances from a label, by both in one function. One operation is to go back to the loop's beginning,
 * which stands right behind a function's first instruction or two. Each is called 23 times, and runs 31 operations.
 * Prints what they have computed, which is the same for all.
 */
#include <stdio.h>

#include "noinline.h"

enum { CALLS = 23, OPERATIONS = 31 };
enum { AGAIN, ADD, TWICE, END };

NOINLINE long by_addresses(unsigned long code, long value)
{
    static const void *const labels[] = {&&again, &&add, &&twice, &&end};
    value += 5;
again:
    if (value < 0)
        return -1;
    code >>= 2;
    goto *labels[code & 3];
add:
    value += 3;
    code >>= 2;
    goto *labels[code & 3];
twice:
    value = value * 2 % 1009;
    code >>= 2;
    goto *labels[code & 3];
end:
    return value;
}

NOINLINE long by_distances(unsigned long code, long value)
{
    static const int labels[] = {&&again - &&end, &&add - &&end, &&twice - &&end, &&end - &&end};
    value += 5;
again:
    if (value < 0)
        return -1;
    code >>= 2;
    goto *(&&end + labels[code & 3]);
add:
    value += 3;
    code >>= 2;
    goto *(&&end + labels[code & 3]);
twice:
    value = value * 2 % 1009;
    code >>= 2;
    goto *(&&end + labels[code & 3]);
end:
    return value;
}

NOINLINE long by_switch(unsigned long code, long value)
{
    value += 5;
    for (;;) {
        if (value < 0)
            return -1;
        code >>= 2;
        switch (code & 7) {
        case AGAIN:
        case AGAIN + 4:
            continue;
        case ADD:
        case ADD + 4:
            value += 3;
            break;
        case TWICE:
            value = value * 2 % 1009;
            break;
        case TWICE + 4:
            value = (value + value) % 1009;
            break;
        default:
            return value;
        }
    }
}

NOINLINE long by_both(unsigned long code, long value)
{
    static const void *const labels[] = {&&again, &&other};
    value += 5;
again:
    if (value < 0)
        return -1;
    code >>= 2;
    switch (code & 7) {
    case AGAIN:
    case AGAIN + 4:
        goto *labels[value & 1];
    case ADD:
    case ADD + 4:
        value += 3;
        goto *labels[value % 3 == 1];
    case TWICE:
        value = value * 2 % 1009;
        break;
    case TWICE + 4:
        value = (value + value) % 1009;
        goto *labels[code % 16 == 9];
    default:
        return value;
    }
other:
    goto *labels[code == END + 1];
}

int main(void)
{
    unsigned long code = END;
    long (*const all[])(unsigned long, long) = {by_addresses, by_distances, by_switch, by_both};
    for (int i = 0; i < OPERATIONS - 1; i++)
        code = code << 2 | (unsigned long)(i * 7 % 3);
    code <<= 2;
    for (unsigned f = 0; f < sizeof all / sizeof *all; f++) {
        long sum = 0;
        for (int i = 0; i < CALLS; i++)
            sum += all[f](code, i);
        printf("%ld\n", sum);
    }
}
