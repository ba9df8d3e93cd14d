/*
 * What the kernel reports about executable mappings, on all CPUs, as it happens: each mmap and mprotect to executable
 * (the program's and the dynamic linker's own too), exec, fork and exit of every process. perf's side-band records of
 * a software event that never fires (perf_event_open(2): PERF_COUNT_SW_DUMMY, mmap2, comm_exec, task).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum mmap_event_kind {
    MMAP_EVENT_MAP,
    MMAP_EVENT_EXEC, /* its mappings are gone; those of the new program follow */
    MMAP_EVENT_FORK, /* a new process, with the mappings of PARENT */
    MMAP_EVENT_EXIT, /* the process's first thread has ended */
};

struct mmap_event {
    enum mmap_event_kind kind;
    pid_t pid, parent;
    uint64_t time; /* ns, CLOCK_MONOTONIC */
    /* of MMAP_EVENT_MAP */
    uint64_t start, end, offset;
    uint64_t device, inode; /* inode 0: no file */
    uint64_t generation;    /* of the inode: tells a file from a later one with the same number */
    const char *path;       /* as the process sees it; "[vdso]", "//anon". Valid during the callback */
};

struct mmap_events;

/* Starts to record mappings, and with PROCESSES the other kinds. 0, or -errno: -EACCES without CAP_PERFMON, -ENOENT
 * where the kernel has no perf events. */
int mmap_events_open(bool processes, struct mmap_events **events);

/*
 * The same of all kinds, but of this process alone, in buffers of SIZE bytes for each CPU, a power of two and of pages:
 * for tests, which fill them. With mappings of the whole machine they would fill those of others who record them.
 */
int mmap_events_open_own(size_t size, struct mmap_events **events);
void mmap_events_close(struct mmap_events *events); /* NULL is fine */

/* A descriptor that poll and epoll find readable when there is something to drain. Owned by EVENTS. */
int mmap_events_fd(const struct mmap_events *events);

/*
 * Calls fn(context, event) for everything that happened before the call, in the order in which it happened; fn may not
 * have records moved (mmap_events_keep). Returns the number of events.
 */
size_t mmap_events_drain(struct mmap_events *events, void (*fn)(void *context, const struct mmap_event *event),
                         void *context);

/*
 * Moves the kernel's records for all that this thread has opened to memory; the next drain hands them out. To be called
 * by code that keeps the thread from draining for so long that the kernel's buffers could fill. Takes less than a
 * microsecond for each CPU where there is nothing.
 */
void mmap_events_keep(void);

/* How many records the kernel could not deliver so far, because a buffer was full. */
uint64_t mmap_events_lost(const struct mmap_events *events);

/*
 * How records tell the file at PATH from others: device, inode and generation of *FILE. They are those of the file that
 * is mapped, which stat does not give on btrfs and overlayfs: so PATH is mapped here for a moment. 0, or -errno.
 */
int mmap_events_identify(const char *path, struct mmap_event *file);
