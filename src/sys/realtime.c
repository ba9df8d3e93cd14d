/* The scheduling of a thread that must not wait. */
#include "sys/realtime.h"

#include <sched.h>

#include "sys/clock.h"

bool realtime_begin(void)
{
    return sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}) == 0;
}

void realtime_end(void)
{
    sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){.sched_priority = 0});
}

uint64_t realtime_store(const struct word_store *stores, size_t count)
{
    uint64_t began = 0;
    realtime_begin();
    /* The first time changes nothing: it has code and data at hand for the second, which then waits for neither. */
    for (int is_meant = 0; is_meant < 2; is_meant++) {
        began = clock_now();
        for (size_t i = 0; i < count; i++) {
            uint32_t value = is_meant ? stores[i].value : __atomic_load_n(stores[i].word, __ATOMIC_RELAXED);
            __atomic_store_n(stores[i].word, value, __ATOMIC_RELEASE);
        }
    }
    uint64_t took = clock_now() - began;
    realtime_end();
    return took;
}
