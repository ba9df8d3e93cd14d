/*
 * A library with several versions of its functions (libversions.map):
 *
 *   foo    V1, and V2, the default
 *   bar    V1, V10, and V2, the default
 *   same   V1, and V2, the default: one function
 *   width  V1, which returns a char, and V2, the default, which returns a short
 */
#include "noinline.h"

#define KEEP(value) __asm__ volatile("" : "+r"(value))

#define VERSION(name, number, version)                                                                                 \
    NOINLINE int name(int a);                                                                                          \
    NOINLINE int name(int a)                                                                                           \
    {                                                                                                                  \
        KEEP(a);                                                                                                       \
        return a + (number);                                                                                           \
    }                                                                                                                  \
    __asm__(".symver " #name ", " version);

NOINLINE signed char width_1(int a);
NOINLINE signed char width_1(int a)
{
    KEEP(a);
    return (signed char)-a;
}
__asm__(".symver width_1, width@V1");

NOINLINE unsigned short width_2(int a);
NOINLINE unsigned short width_2(int a)
{
    KEEP(a);
    return (unsigned short)-a;
}
__asm__(".symver width_2, width@@V2");

VERSION(foo_1, 1, "foo@V1")
VERSION(foo_2, 2, "foo@@V2")
VERSION(bar_1, 1, "bar@V1")
VERSION(bar_10, 10, "bar@V10")
VERSION(bar_2, 2, "bar@@V2")
VERSION(same, 3, "same@V1")
__asm__(".symver same, same@@V2");
