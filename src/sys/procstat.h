/*
 * procstat: the numbers that the kernel tells of a process in /proc/PID/stat and /proc/PID/status.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Numbers of fields, as proc(5) counts them. */
enum {
    PROCSTAT_PARENT = 4,
    PROCSTAT_FLAGS = 9,  /* PF_… of include/linux/sched.h */
    PROCSTAT_START = 22, /* in clock ticks since the machine began */
};

/* How much later than procstat_birth says a process may have begun, in ns: a tick, and what a number of Lua's
 * rounds. */
#define PROCSTAT_BIRTH_WITHIN (10 * 1000 * 1000 + 128)

/* Into *VALUE field NUMBER, from 4 on, of process PID. Returns false where it is gone. */
bool procstat_field(pid_t pid, int number, int64_t *value);

/*
 * Into *BIRTH when process, or thread, PID began, by the clock of the kernel's task_struct.start_boottime, in ns: what
 * tells it from a later one with the same number. Returns false where it is gone.
 */
bool procstat_birth(pid_t pid, uint64_t *birth);

/* The process that traces PID by ptrace; 0: none does, or PID is gone. */
pid_t procstat_tracer(pid_t pid);

/* The process by whose /proc/PID the file PATH was reached, if it has exited since: PATH leads nowhere then. Else 0. */
pid_t procstat_exited(const char *path);
