/* Watchpoints as perf has them: accesses to a place in memory, seen by the CPU's debug registers. */
#pragma once

#include <linux/perf_event.h>
#include <stdint.h>

/* The kinds of accesses. */
enum watch_access { WATCH_WRITE, WATCH_READ_WRITE, WATCH_EXECUTE, WATCH_ACCESSES };

/* The event, sampled each time, that an access of the kind ACCESS to the LENGTH bytes at ADDRESS is; of what is
 * executed LENGTH is not looked at. */
struct perf_event_attr watchpoint_event(enum watch_access access, uint64_t address, unsigned length);
