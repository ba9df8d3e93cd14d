/* The other file of tests/targets/inlined.cc. */
#include "inlined.h"

int other_file(int n)
{
    return shared_get(n) + 7 * (n < 0 ? wrap(n) : 1);
}
