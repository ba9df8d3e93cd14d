/* The registers of threads that sleep in the kernel, without disturbing them: read by an iterator over tasks. Those of
 * vectors are there from Linux 5.16 on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sys/thread_stop.h"

struct task_registers; /* the iterator, loaded */

/* NULL where the kernel has no such iterators (before Linux 5.15, or without BTF) or rights are missing: *CODE. */
struct task_registers *task_registers_open(int *code);
void task_registers_close(struct task_registers *tasks);

/*
 * Calls VISIT for each thread of PID that has called the kernel and sleeps there: with what its registers were at the
 * call, which it has kept but for those that any call may change. For others, which run or were interrupted, WORDS is
 * NULL. 0 or -errno; -ESRCH: it has none, or other numbers for the kernel, as in a PID namespace.
 */
int task_registers_read(struct task_registers *tasks, pid_t pid,
                        void (*visit)(void *context, const struct thread_words *thread), void *context);
