/* What /proc says of a process before it is traced. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/* 0 if PID is a process, not one of its threads, that runs a 64-bit program of this CPU; else an error that says what
 * it is. */
int process_check(pid_t pid, struct error *err);

/*
 * 0 if the command at PATH can be traced, or cannot be judged before it runs; else an error that says why not. For a
 * script that is its interpreter.
 */
int process_check_command(const char *path, struct error *err);

/* The process of thread TID; 0 where there is no such thread. */
pid_t process_of_thread(pid_t tid);

/* Calls VISIT for each process there is until it returns non-zero, which is returned; 0, or -errno where /proc cannot
 * be read. */
int processes_each(int (*visit)(pid_t pid, pid_t parent, void *context), void *context);
