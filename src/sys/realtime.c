/* The scheduling of a thread that must not wait. */
#include "sys/realtime.h"

#include <sched.h>

bool realtime_begin(void)
{
    return sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}) == 0;
}

void realtime_end(void)
{
    sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){.sched_priority = 0});
}
