/* What one process waits for: descriptors that become readable, and a time. Behind it stands one epoll instance. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Opens an instance: a descriptor (closed on exec), or a negative errno. */
int events_open(struct error *err);

/*
 * Waits for FD from now on, until events_remove or its close; EDGE: edge-triggered, each wake-up by the kernel counts
 * once, however long FD then stays readable. -EPERM: a regular file, which is always readable.
 */
int events_add(int events, int fd, bool edge, struct error *err);
void events_remove(int events, int fd);

/*
 * Waits up to NS (-1: without end) and stores the readable descriptors in READY: their number, at most MAX,
 * which is 0 when the time is over or a signal came, or a negative errno.
 */
int events_wait(int events, int64_t ns, int *ready, size_t max);

/* Seconds of CLOCK_MONOTONIC. */
double events_now(void);
