/* Rights that a run needs to begin, and not any more afterwards: given up, for good. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The capabilities that a run can need while it lasts, as bits by their numbers. */
enum right {
    RIGHT_BPF,
    RIGHT_PERFMON,
    RIGHT_SYS_PTRACE,
    RIGHT_DAC_READ_SEARCH,
    RIGHT_SYSLOG,
    RIGHT_CHECKPOINT_RESTORE,
    RIGHT_KILL,
    RIGHTS
};

/* "CAP_BPF" */
const char *right_name(enum right right);

/* Which of them this process has, a bit of 1 << right for each. */
unsigned rights_held(void);

/* 0, or -ENOENT where there is no USER, a name; any number will do. */
int rights_check_user(const char *user, struct error *err);

/*
 * Gives up all capabilities but KEPT, bits of 1 << right, and others that this process has not; then nothing that it
 * executes has more, and it can neither trace nor write to other processes. USER, a name or a number, is who it is from
 * then on, with that user's groups; NULL: the same as before. 0 or a negative errno: -EAGAIN while there is another
 * thread, which would keep its own; what was done by then stays done. (capabilities(7), seccomp(2))
 */
int rights_drop(unsigned kept, const char *user, struct error *err);
