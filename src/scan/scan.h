/*
 * Scans of a process's memory for pointers to the blocks that it holds, pass after pass. Called through LuaJIT's FFI:
 *
 *   scan_new → { [scan_stop, scan_at_end] → scan_begin → scan_step … → scan_finish } … → scan_confirm → scan_groups
 *
 * A pass of a stopped process is exact: it goes on as soon as its memory is read, and what the pointers lead to is
 * looked at then. Of a running one a pass misses pointers that are moved meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "map/map.h"
#include "scan/blocks.h"
#include "scan/glibc_heap.h"
#include "scan/groups.h"

struct exit_hold;
struct scan;

struct scan_totals {
    uint64_t blocks;                  /* that the process held at the begin of the last pass */
    uint64_t suspects;                /* that all passes have found lost; of one of a stopped process, that one */
    uint64_t read, unread;            /* bytes in the last pass; unread: that could not be read, gone or not readable */
    uint64_t watched, device;         /* bytes that are not touched, by the reason */
    uint64_t asleep, stopped, unseen; /* threads: of which the kernel told the registers, which were stopped for that,
                                         and of which nothing is known */
    uint64_t stopped_for;             /* ns, all of the process */
    uint64_t passes;
    bool exact;      /* the last pass was of the stopped process */
    bool free_known; /* … and which memory of glibc's heap is free: pointers there keep nothing */
};

/* A scan of process PID that reads PERCENT of the time and MOST bytes a pass; NULL: no memory. */
struct scan *scan_new(int pid, unsigned percent, uint64_t most);
/* Lets the process go on, if it is stopped. */
void scan_free(struct scan *scan);
/* What went wrong, for people. */
const char *scan_error(const struct scan *scan);

/* Stops the process, for at most NS. 0 or -errno. */
int scan_stop(struct scan *scan, uint64_t ns);
/* The process, of one thread, has come to its end and is held there by HOLD: as if it were stopped, for at most NS. */
void scan_at_end(struct scan *scan, const struct exit_hold *hold, uint64_t ns);
/* Lets it go on, if it is stopped. */
void scan_go_on(struct scan *scan);

/*
 * Begins a pass over the blocks in MAP; MAP and LAYOUT stay the caller's, and have to stay there until scan_finish. 0,
 * -ETIMEDOUT: the process was stopped for too long, and goes on; -errno.
 */
int scan_begin(struct scan *scan, const struct map *map, const struct scan_layout *layout);
/*
 * The same over the chunks of glibc's heap as its own headers tell of them, of a process that is stopped: 0; -ENOENT:
 * it has no such heap; -ENOTSUP: one that is not known; -errno. Sums are by CHUNK_STACK of scan/blocks.h, in the place
 * of a number of stacks.
 */
int scan_begin_chunks(struct scan *scan);
/* What that has found. */
const struct glibc_heap *scan_chunks(const struct scan *scan);

/* Goes on for NS. 1: all memory is read; 0: not yet; -errno as above. */
int scan_step(struct scan *scan, uint64_t ns);
/* Ends the pass. 0 or -errno; -ESRCH: the process has ended or executed another program meanwhile. */
int scan_finish(struct scan *scan);

/* Forgets suspects that are not in MAP any more: they were freed, and so not lost. 0 or -errno. */
int scan_confirm(struct scan *scan, const struct map *map, const struct scan_layout *layout);

/* What is known of the last pass, and of all. */
const struct scan_totals *scan_totals(const struct scan *scan);
/* The sums of the last pass by stack, and who holds blocks: valid until the next call. How many; -errno. */
int64_t scan_groups(struct scan *scan, const struct scan_group **groups);
int64_t scan_holders(const struct scan *scan, const struct scan_holder **holders);

/* The block with this number; NULL where there is none. */
const struct scan_block *scan_block_at(const struct scan *scan, uint32_t block);
/* Of a held block: the block that leads to it, UINT32_MAX: its root does. */
uint32_t scan_from(const struct scan *scan, uint32_t block);
/* Where in block FROM the pointer to block TO is, in bytes; -ENOENT: it is not there now. */
int64_t scan_link(struct scan *scan, uint32_t from, uint32_t to);
/* The thread whose stack or variables have ADDRESS, by the last pass; 0: none. */
int scan_thread_at(const struct scan *scan, uint64_t address);
/* True if the block, which was allocated at AT at ADDRESS, is a suspect. */
bool scan_suspects(const struct scan *scan, uint64_t address, uint64_t at);
