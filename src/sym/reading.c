/* When lists that change are read again. */
#include "sym/reading.h"

#include <time.h>

enum {
    REREAD_SHARE = 20,          /* at most 1/20 of the time goes into reading a list again */
    REREAD_PAUSE = 1000 * 1000, /* and 1 ms passes in any case, in ns */
};

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t next_reading(uint64_t start)
{
    uint64_t end = now_ns(), pause = (end - start) * REREAD_SHARE;
    return end + (pause > REREAD_PAUSE ? pause : REREAD_PAUSE);
}
