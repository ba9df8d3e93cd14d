/* A reference count: the first instruction of ref_get is a locked one, on which the kernel puts no probe. Calls it 5
 * times, with NAP microseconds after each. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "noinline.h"

NOINLINE void ref_get(int *p)
{
    __atomic_add_fetch(p, 1, __ATOMIC_SEQ_CST);
}

NOINLINE int ref_put(int *p)
{
    return __atomic_sub_fetch(p, 1, __ATOMIC_SEQ_CST);
}

int main(int argc, char **argv)
{
    int count = 1, nap = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < 5; i++) {
        ref_get(&count);
        usleep((useconds_t)nap);
    }
    printf("truth: ref_get 5 calls, ref_put %d\n", ref_put(&count));
}
