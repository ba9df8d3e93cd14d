/* What tests/targets/plugin.c loads: plugged(i) returns 2i. The USDT probe uplua:plugged has i, too. */
#include "../../examples/usdt.h"
#include "noinline.h"

__attribute__((visibility("default"))) NOINLINE long plugged(long i)
{
    __asm__ volatile(USDT("uplua", "plugged", "-8@%0") : : "nor"(i));
    return 2 * i;
}
