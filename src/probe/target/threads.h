/* The threads of the target's processes, and of those that these have started, for what the kernel counts by thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "probe/target.h"

struct threads {
    pid_t *ids; /* ascending in each process */
    size_t count, capacity;
};

/*
 * The threads that TARGET's processes have now, and with CHILDREN those of the processes that these have started, and
 * so on; into *THREADS, freed by threads_free. 0 or -errno.
 */
int threads_list(const struct target *target, bool children, struct threads *threads);
/* The same of all processes there are but EXCEPT. */
int threads_list_all(pid_t except, struct threads *threads);
void threads_free(struct threads *threads);
/* True if ID is among THREADS. */
bool threads_has(const struct threads *threads, pid_t id);

/*
 * Calls OPEN, which has what is opened inherited by the threads that its thread creates, with CHILDREN by the
 * processes, too, for each thread of threads_list. A thread that was created meanwhile has inherited the event if its
 * creator had it by then, which cannot be known. So UNDO closes all, and they are opened anew until no thread was
 * created: no thread is counted twice or missed. 0; what OPEN returned, but -ESRCH: the thread has exited; -EAGAIN:
 * threads come all the time. After an error nothing is open.
 */
int threads_open(const struct target *target, bool children, int (*open)(pid_t thread, void *context),
                 void (*undo)(void *context), void *context);
