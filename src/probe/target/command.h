/* A command that uplua starts: forked at once, executed when the probes are in place. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/*
 * Forks a child that waits for command_release(*CONTROL) to execute PATH with ARGV, and ends where *CONTROL is closed
 * before, as it is when uplua dies. The child gets the signal mask and the ignored signals of uplua's own start.
 */
int command_fork(const char *path, char *const argv[], pid_t *pid, int *control, struct error *err);

/*
 * Gives the waiting child a process group of its own, which no Ctrl-C at the terminal reaches; where its standard input
 * is the terminal, its command will read /dev/null. 0 or a negative errno.
 */
int command_set_apart(int control);

/* Lets the child execute its command: 0, or the negative errno of its execve. */
int command_release(int control);
