/* Events that the kernel's perf counts: clocks, faults, switches, the CPU's own counters. They run a handler once in so
 * many. */
#pragma once

#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>

#include "probe/probe.h"

struct event {
    struct perf_event_attr attr; /* what is counted, and how often it runs the handler */
    bool some;                   /* only on the CPUs in … */
    cpu_set_t cpus;
    bool once; /* on one CPU, whatever that does: a timer */
};

/*
 * True if EVENT is attached to each thread of TARGET, so that others do not pay for it and their events do not count
 * into its period: threads created later inherit it. Clocks tick on all CPUs instead: there a thread that goes to sleep
 * need not stop and start them. All events do so if certain CPUs are meant, if there is no target, or if it is followed
 * or has too many threads.
 */
bool event_in_threads(const struct event *event, const struct target *target);

/*
 * Runs PROGRAM_FD, of type BPF_PROG_TYPE_PERF_EVENT, at EVENT's samples. Processes outside of TARGET may run it too:
 * the program asks. On failure nothing stays attached.
 */
int event_attach(int program_fd, const struct event *event, const struct target *target, struct probe_link **link,
                 struct error *err);

/* The same, adding to LINK; on failure LINK may have a part of it. */
int event_add(int program_fd, const struct event *event, const struct target *target, struct probe_link *link,
              struct error *err);

/* True if EVENT is meant for CPU. */
bool event_on_cpu(const struct event *event, int cpu);

/* Fills ERR with the reason why EVENT could not be opened, which CODE, an -errno, stands for; returns CODE. */
int event_failed(int code, const struct event *event, struct error *err);

/* 0 if this machine counts EVENT, or does not say without more rights; else an error that says what is missing. */
int event_check(const struct event *event, struct error *err);
