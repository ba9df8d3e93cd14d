/*
 * Nothing but the names that mallocleak.lua looks for, each at an address of its own, without a C library: its handlers
 * are then the same on every machine. It is never run.
 */
#define FUNCTION(name)                                                                                                 \
    long name(void);                                                                                                   \
    long name(void)                                                                                                    \
    {                                                                                                                  \
        return __LINE__;                                                                                               \
    }

FUNCTION(malloc)
FUNCTION(calloc)
FUNCTION(memalign)
FUNCTION(aligned_alloc)
FUNCTION(valloc)
FUNCTION(pvalloc)
FUNCTION(posix_memalign)
FUNCTION(realloc)
FUNCTION(reallocarray)
FUNCTION(free)
FUNCTION(cfree)
#ifdef GLIBC
FUNCTION(gnu_get_libc_version)
#endif
FUNCTION(_start)
