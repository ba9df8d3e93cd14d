/* The threads of the target's processes, for what the kernel counts by thread. */
#ifndef UPLUA_PROBE_THREADS_H
#define UPLUA_PROBE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "probe/target.h"

struct threads {
    pid_t *ids; /* ascending in each process */
    size_t count, capacity;
};

/* The threads that TARGET's processes have now, into *THREADS, freed by threads_free. 0 or -ENOMEM. */
int threads_list(const struct target *target, struct threads *threads);
void threads_free(struct threads *threads);
/* True if ID is among THREADS. */
bool threads_has(const struct threads *threads, pid_t id);

#endif
