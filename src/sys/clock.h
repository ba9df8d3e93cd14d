/* The clock by which times are compared: that of the kernel's records and of handlers' e.time. */
#pragma once

#include <stdint.h>
#include <time.h>

/* ns, CLOCK_MONOTONIC. */
static inline uint64_t clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
