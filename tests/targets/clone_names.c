/*
 * Functions that are called as compilers call clones, parts, and functions of the same name in several files. Each
 * prints nothing; main calls each as often as it says there.
 */
#include "clone_names.h"

/* All of one function. */
CLONE("apart", apart)
CLONE("apart.isra.0", apart_isra)
CLONE("apart.isra.0.constprop.1", apart_both)
CLONE("apart.lto_priv.0", apart_private)
CLONE("apart.part.0", apart_part)
CLONE("apart.isra.0.cold", apart_cold)
CLONE("apart.5", apart_number)     /* what no compiler makes of a function */
CLONE("apart.isra", apart_mistake) /* nor this */

/* A function of C++. */
CLONE("_ZN2ns1fEi", cxx)
CLONE("_ZN2ns1fEi.constprop.0", cxx_clone)

/* A global function, with a clone; clone_names_other.c has a static one of that name, with one. */
CLONE("shared.constprop.0", shared_clone)

NOINLINE int shared(int a)
{
    KEEP(a);
    return a;
}

/* Only clones are left of it. */
CLONE("gone.constprop.0", gone_first)
CLONE("gone.constprop.1", gone_second)

/* Which return other types than each other. */
static signed char width(int a) __asm__("width");
static NOINLINE signed char width(int a)
{
    KEEP(a);
    return (signed char)-a;
}
static long width_clone(int a) __asm__("width.constprop.0");
static NOINLINE long width_clone(int a)
{
    KEEP(a);
    return -50000000000 - a;
}

int main(void)
{
    for (int i = 0; i < 2; i++)
        width(5);
    for (int i = 0; i < 3; i++)
        width_clone(5);
    call(apart, 5);
    call(apart_isra, 7);
    call(apart_both, 11);
    call(apart_private, 13);
    call(apart_part, 17);
    call(apart_cold, 19);
    call(apart_number, 2);
    call(apart_mistake, 3);
    call(cxx, 41);
    call(cxx_clone, 43);
    call(shared, 23);
    call(shared_clone, 29);
    call_others();
    call(gone_first, 47);
    call(gone_second, 53);
    return 0;
}
