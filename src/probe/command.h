/* A command that uplua starts: found as a shell would, forked at once, executed when the probes are in place. */
#ifndef UPLUA_PROBE_COMMAND_H
#define UPLUA_PROBE_COMMAND_H

#include <sys/types.h>

#include "sys/error.h"

/* The executable file that NAME stands for, by $PATH where it has no slash: malloc'd into *PATH. */
int command_find(const char *name, char **path, struct error *err);

/*
 * Forks a child that waits for command_release(*CONTROL) to execute PATH with ARGV, and ends where *CONTROL is closed
 * before, as it is when uplua dies. The child gets the signal mask and the ignored signals of uplua's own start.
 */
int command_fork(const char *path, char *const argv[], pid_t *pid, int *control, struct error *err);

/* Lets the child execute its command: 0, or the negative errno of its execve. */
int command_release(int control);

#endif
