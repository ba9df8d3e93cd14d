/*
 * A process that is held when it ends: after it has called exit_group or was killed, and before its memory goes. Its
 * first thread is traced for that by ptrace (PTRACE_O_TRACEEXIT), in a thread of our own, which passes on the signals
 * that it gets. The kernel lets the process go on if we end, however we end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "sys/thread_stop.h"

struct exit_hold;

enum exit_state {
    EXIT_RUNS,   /* it has not ended */
    EXIT_HELD,   /* it has, and stands until exit_hold_free */
    EXIT_MISSED, /* it has ended, or cannot be traced any more */
};

/* Traces process PID, once nobody else does; where that is not possible, its end is missed. NULL: no memory. */
struct exit_hold *exit_hold_new(pid_t pid);
/* Why its end is missed, for people; "" where that is not known. */
const char *exit_hold_error(struct exit_hold *hold);
/* Lets it go on, or end. */
void exit_hold_free(struct exit_hold *hold);

/* One of enum exit_state. */
int exit_hold_state(struct exit_hold *hold);

/* Of a process that is held: what its first thread had in its registers when it came to its end, until exit_hold_free.
 */
const struct thread_words *exit_hold_words(const struct exit_hold *hold);
