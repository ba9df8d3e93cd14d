/*
 * The time that a function's own probes take between its entry and its return. It begins when the program at the entry
 * looks at the clock, last of all, and ends when the program at the return looks at it, first of all. In between the
 * kernel gets past the first instruction, and comes by a trap to the return. It is measured on functions of uplua's own
 * that do nothing, by a program that only notes the time.
 */
#pragma once

#include <stdint.h>

#include "probe/probe.h"

/* How a return is seen. */
enum cost_way {
    COST_OF_RETURN, /* by the kernel, which replaces the return address */
    COST_OF_EXIT,   /* by a probe on the return instruction */
    COST_WAYS,
};

/*
 * In ns: the median when it was measured last, and of all times that it was the smallest 10th and the largest 90th
 * percentile. What the traps of a call whose return the kernel replaces take outside of the programs is measured by the
 * caller's own looks at the clock, in calls one right after the other: it matters where they are many.
 */
struct cost {
    uint64_t ns, low, high;
};

/* What is to be measured, as bits. */
#define COST_BIT(way, entry) (1u << (ENTRIES * (unsigned)(way) + (unsigned)(entry)))

struct cost_run;

/*
 * Sets the probes for those of WANTED (COST_BIT) that are not known yet, in a thread of its own, since the kernel
 * takes its time; NULL where all are known, or there is no memory.
 */
struct cost_run *cost_begin(unsigned wanted);
/*
 * Waits for the probes of RUN, measures, and frees it. 0, and in *LINK what is attached, for the caller to detach:
 * until then cost_again measures anew. Or -errno and ERR; *LINK is NULL then, as it is without a RUN.
 */
int cost_finish(struct cost_run *run, struct probe_link **link, struct error *err);
/* Measures what is known anew, in less than a millisecond or two: what else the machine does makes a difference. */
void cost_again(void);
/* Forgets what is known: to be called once the probes that measured it are detached, before it is measured anew. */
void cost_forget(void);
/* What the probes take in the WAY at an entry of the kind ENTRY; NULL: it is not known. */
const struct cost *cost_of(enum cost_way way, enum entry entry);
/* What the traps of a call take whose return the kernel replaces, outside of the two programs. */
const struct cost *cost_around(enum entry entry);
