/* A library whose variables the program has, in part (copy relocations), and in part it has them itself. */
#include <cstdio>

#include "noinline.h"

extern "C" int of_library;
int of_library = 7;
static int inside = 70;
thread_local int threads_own = 7000;
__attribute__((visibility("hidden"))) int hidden_one = 700;

NOINLINE int lib_step(int i)
{
    std::printf("library %d %d\n", inside, hidden_one);
    inside++;
    threads_own++;
    hidden_one += 2;
    return of_library + i;
}
