/* When lists that change are read again. */
#include "sym/reading.h"

#include "sys/clock.h"

enum {
    REREAD_SHARE = 20,          /* at most 1/20 of the time goes into reading a list again */
    REREAD_PAUSE = 1000 * 1000, /* and 1 ms passes in any case, in ns */
};

uint64_t next_reading(uint64_t start)
{
    uint64_t end = clock_now(), pause = (end - start) * REREAD_SHARE;
    return end + (pause > REREAD_PAUSE ? pause : REREAD_PAUSE);
}
