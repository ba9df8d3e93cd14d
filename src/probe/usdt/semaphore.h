/* The semaphores of USDT probes: words in a program's memory that the kernel keeps above 0 while somebody traces. */
#pragma once

#include "probe/probe.h"

/*
 * True if process PID has mapped the semaphore of SITE, at which a probe is attached, and the kernel has not raised it:
 * it only writes to memory that the process may write to itself. False where that cannot be known.
 */
bool semaphore_is_down(const struct site *site, pid_t pid);
