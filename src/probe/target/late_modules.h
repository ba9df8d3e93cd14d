/* Files that come later: which process maps one whose name somebody waits for (sys/mmap_events.h), a library above
 * all. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define ARRIVAL_ANY "*" /* the name of every file */
enum { ARRIVAL_IDENTITY_SIZE = 64 };

struct arrivals;

/* Starts to record. 0 and *ARRIVALS, which the caller frees, or -errno. */
int late_modules_open(struct arrivals **arrivals);
void late_modules_free(struct arrivals *arrivals); /* NULL is fine */
/* Waits for files that NAME means ("libfoo", see library_matches; "prog"; ARRIVAL_ANY), too; counted from what is
 * mapped behind late_modules_open. 0 or -ENOMEM. */
int late_modules_want(struct arrivals *arrivals, const char *name);

/* A descriptor that is readable when there may be something to take. Owned by ARRIVALS. */
int late_modules_fd(const struct arrivals *arrivals);

struct arrival {
    pid_t pid;
    const char *name;                     /* as in late_modules_want */
    const char *path;                     /* of the file, as the process sees it … */
    char identity[ARRIVAL_IDENTITY_SIZE]; /* … and what tells it from others */
    uint64_t time;                        /* ns, CLOCK_MONOTONIC */
};

/* Calls VISIT for each that has come. */
void late_modules_take(struct arrivals *arrivals, void (*visit)(const struct arrival *arrival, void *context),
                       void *context);

/* How many records of mappings, anyone's, the kernel could not deliver so far. */
uint64_t late_modules_lost(const struct arrivals *arrivals);

/* The identity that arrivals of the file at PATH have, in the ARRIVAL_IDENTITY_SIZE bytes at IDENTITY. 0, or -errno. */
int late_module_identify(const char *path, char *identity);
