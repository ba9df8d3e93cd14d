/* Functions with the symbols of clones. */
#include "noinline.h"

#define KEEP(value) __asm__ volatile("" : "+r"(value))

/* A static function NAME with the symbol SYMBOL. */
#define CLONE(symbol, name)                                                                                            \
    static int name(int a) __asm__(symbol);                                                                            \
    static NOINLINE int name(int a)                                                                                    \
    {                                                                                                                  \
        KEEP(a);                                                                                                       \
        return a;                                                                                                      \
    }

static inline void call(int (*function)(int), int times)
{
    for (int i = 0; i < times; i++)
        function(i);
}

void call_others(void);
