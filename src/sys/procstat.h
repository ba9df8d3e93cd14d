/*
 * procstat: the numbers that the kernel tells of a process in /proc/PID/stat.
 */
#ifndef UPLUA_SYS_PROCSTAT_H
#define UPLUA_SYS_PROCSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Numbers of fields, as proc(5) counts them. */
enum {
    PROCSTAT_PARENT = 4,
    PROCSTAT_START = 22, /* in clock ticks since the machine began */
};

/* Into *VALUE field NUMBER, from 4 on, of process PID. Returns false where it is gone. */
bool procstat_field(pid_t pid, int number, int64_t *value);

#endif
