/* What /proc says of a process before it is traced. */
#ifndef UPLUA_PROBE_PROCESS_H
#define UPLUA_PROBE_PROCESS_H

#include <sys/types.h>

#include "sys/error.h"

/* 0 if PID is a process, not one of its threads, that runs a 64-bit program of this CPU; else an error that says what
 * it is. */
int process_check(pid_t pid, struct error *err);

#endif
