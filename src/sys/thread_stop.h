/*
 * Threads of other processes, stopped for a moment by ptrace. The kernel lets them go on if this process ends, however
 * it ends. All calls are to be made by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* What a thread has in its registers. */
struct thread_words {
    pid_t tid;
    uint64_t stack_pointer;
    uint64_t thread_pointer; /* where its own variables are; 0: not known */
    const uint64_t *words;   /* COUNT of them, with those of the floating point and vector registers */
    size_t count;
};

struct stopped_thread {
    pid_t tid;
    int signal; /* that it was about to get, and gets when it goes on */
    bool stops; /* it has been asked to, and has not told yet */
};

struct stopped {
    pid_t pid;
    struct stopped_thread *threads;
    size_t count, capacity;
};

/*
 * Stops all threads of PID until DEADLINE (ns, CLOCK_MONOTONIC). 0; else all go on, and ERR says why: -ETIMEDOUT where
 * one did not stop in time, -EPERM where somebody else traces them or rights are missing, -ESRCH: the process has
 * ended.
 */
int thread_stop_all(pid_t pid, uint64_t deadline, struct stopped *stopped, struct error *err);
/* Stops the one thread TID of PID. */
int thread_stop(pid_t pid, pid_t tid, uint64_t deadline, struct stopped *stopped, struct error *err);
/* Lets them go on. */
void thread_let_go(struct stopped *stopped);

/* Calls VISIT with the registers of each thread of STOPPED. 0 or -errno. */
int thread_stop_registers(const struct stopped *stopped,
                          void (*visit)(void *context, const struct thread_words *thread), void *context);
