/* Words of a program that the kernel keeps for it, and gives back later: of epoll and of timers. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum kernel_pointer { KERNEL_POINTER_EPOLL, KERNEL_POINTER_TIMER };

/*
 * Calls VISIT for each that /proc shows: NUMBER is the descriptor of the epoll, or the timer. 0; -ESRCH: the process
 * has ended; -ETIMEDOUT: it is later than UNTIL (clock.h; 0: never), and not all were seen; -errno.
 */
int kernel_pointers_visit(pid_t pid, uint64_t until,
                          void (*visit)(void *context, enum kernel_pointer kind, unsigned number, uint64_t word),
                          void *context);
