/*
 * A walk over all memory of a process in which pointers can be, piece by piece. A process that runs is slowed down by
 * it: the kernel holds the lock of its mappings while it reads. So a piece has 64 KB at most, and reading takes only a
 * share of the time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan/graph.h"
#include "sys/process_memory.h"
#include "sys/thread_stop.h"

enum { SWEEP_RANGES = 256 };

/* Takes the SIZE BYTES that are at ADDRESS. 0 or -errno, which ends the walk. */
typedef int sweep_take(void *context, const uint8_t *bytes, uint64_t address, size_t size, enum rank rank);

struct sweep {
    struct process_memory *memory;
    struct region *regions;
    uint64_t *live_from;  /* of each region: below this nothing counts, which is a stack's unused part */
    bool *stacks;         /* of each region: it is a thread's stack */
    size_t count, region; /* the regions; the one that it is in */
    uint64_t at;          /* from where on the region's pages are not known yet; 0: it has not begun */
    struct page_range ranges[SWEEP_RANGES];
    size_t found, next; /* of RANGES: how many are known, which is next */
    uint8_t *buffer;
    uint64_t last;            /* where the piece before this one ended */
    unsigned percent;         /* of the time that may go into reading */
    uint64_t may_read;        /* when the next piece may be read, ns */
    uint64_t read, unread;    /* bytes */
    uint64_t watched, device; /* bytes that are not to be touched, by the reason */
    uint64_t most;            /* READ may not become more than this */
};

/* Begins a walk, with the regions as they are now. 0 or -errno. */
int sweep_begin(struct sweep *sweep, struct process_memory *memory, unsigned percent, uint64_t most);
void sweep_free(struct sweep *sweep);

/* Of the COUNT THREADS: leaves out what lies below their stack pointers and what functions may use without moving
 * these. */
void sweep_set_stacks(struct sweep *sweep, pid_t pid, const struct thread_words *threads, size_t count);

/*
 * Goes on until DEADLINE (ns, CLOCK_MONOTONIC), and has TAKE(CONTEXT, …) called for what there is, by ascending
 * address. 1: all is done; 0: not yet; -EFBIG: it is more than MOST; -ENOMEM, -errno.
 */
int sweep_step(struct sweep *sweep, sweep_take *take, void *context, uint64_t deadline);

/* True if both addresses are in one region. */
bool sweep_same_region(const struct sweep *sweep, uint64_t a, uint64_t b);

/* Has TAKE called once more for the SIZE bytes at ADDRESS. */
void sweep_again(struct sweep *sweep, sweep_take *take, void *context, uint64_t address, uint64_t size);
