/* Calls the library's keep 23 times, by a function that is exported. Both are stripped of their section tables. */
#include "noinline.h"

void keep(int n);

NOINLINE int fill(int n)
{
    keep(n);
    return n + 1;
}

int main(void)
{
    int n = 0;
    while (n < 23)
        n = fill(n);
    return 0;
}
