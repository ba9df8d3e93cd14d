/* Watchpoints as perf has them. */
#include "sys/watchpoint.h"

#include <linux/hw_breakpoint.h>

struct perf_event_attr watchpoint_event(enum watch_access access, uint64_t address, unsigned length)
{
    static const unsigned kinds[] = {
        [WATCH_WRITE] = HW_BREAKPOINT_W,
        [WATCH_READ_WRITE] = HW_BREAKPOINT_RW,
        [WATCH_EXECUTE] = HW_BREAKPOINT_X,
    };
    return (struct perf_event_attr){
        .type = PERF_TYPE_BREAKPOINT,
        .bp_type = kinds[access],
        .bp_addr = address,
        .bp_len = access == WATCH_EXECUTE ? sizeof(long) : length, /* which is all that the kernel takes for code */
        .sample_period = 1,
    };
}
