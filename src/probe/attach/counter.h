/* Counting without handlers: what perf stat does. One or more events, counted in each thread of the target or on each
 * CPU. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "probe/attach/perf_event.h"
#include "sys/perf.h"

struct counter;

struct counter_options {
    const char *cgroup; /* folder of a cgroup whose processes alone are counted, on all CPUs; or NULL */
    bool cpus;          /* on each CPU, for the whole machine, even if there is a target */
    bool children;      /* the processes that the target starts, or has started, too, and what these start */
};

/*
 * Counts the COUNT EVENTS, as one group: they are counted at the same times, where the CPU has too few counters for
 * all. In each thread of TARGET, and in those that they create; without a target on each CPU. A command is counted from
 * its execve on. The caller frees *COUNTER.
 */
int counter_open(const struct event *events, size_t count, const struct target *target,
                 const struct counter_options *options, struct counter **counter, struct error *err);
void counter_free(struct counter *counter);

/* In how many places COUNTER counts; and what place I is: the number of a CPU, or a thread. */
size_t counter_places(const struct counter *counter);
int counter_place(const struct counter *counter, size_t i);
/* True if the places are threads. */
bool counter_in_threads(const struct counter *counter);

/* What event NUMBER has counted in place I so far: 0 or -errno. */
int counter_read(const struct counter *counter, size_t i, size_t number, struct perf_count *count);
