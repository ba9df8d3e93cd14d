/* Libraries that come later: which process maps one whose name somebody waits for (sys/mmap_events.h). */
#ifndef UPLUA_PROBE_ARRIVAL_H
#define UPLUA_PROBE_ARRIVAL_H

#include <stdint.h>
#include <sys/types.h>

struct arrivals;

/* Starts to record. 0 and *ARRIVALS, which the caller frees, or -errno. */
int arrivals_open(struct arrivals **arrivals);
void arrivals_free(struct arrivals *arrivals); /* NULL is fine */
/* Waits for libraries that the short name NAME means ("libfoo", see library_matches), too; counted from what is mapped behind arrivals_open. 0 or -ENOMEM. */
int arrivals_want(struct arrivals *arrivals, const char *name);

/* A descriptor that is readable when there may be something to take. Owned by ARRIVALS. */
int arrivals_fd(const struct arrivals *arrivals);

struct arrival {
    pid_t pid;
    const char *name; /* as in arrivals_want */
    const char *path; /* of the file, as the process sees it … */
    uint64_t device, inode, generation; /* … and what tells it from others */
    uint64_t time;    /* ns, CLOCK_MONOTONIC */
};

/* Calls VISIT for each that has come. */
void arrivals_take(struct arrivals *arrivals, void (*visit)(const struct arrival *arrival, void *context), void *context);

#endif
