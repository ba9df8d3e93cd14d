/* One of three files that each have a static total (same_names_too.c), which are optimised as one when they are linked.
 */
#include <stdio.h>

#include "noinline.h"

void first(int i);
void second(int i);

static int total = 5;
int exported = 77;

NOINLINE void third(int i)
{
    printf("third %d %d\n", total, exported);
    total += i;
    exported++;
}

int main(void)
{
    for (int i = 0; i < 5; i++) {
        first(i);
        second(i);
        third(i);
    }
    return 0;
}
