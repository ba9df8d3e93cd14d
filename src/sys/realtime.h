/* A few steps of the calling thread that no ordinary one is to come between (sched(7), SCHED_FIFO). */
#pragma once

#include <stdbool.h>

/* From here on it gets a CPU at once, and keeps it. False where it may not, which changes nothing. */
bool realtime_begin(void);
/* As it was before. */
void realtime_end(void);
