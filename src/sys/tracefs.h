/*
 * tracefs, where the kernel describes its tracepoints. It need not be mounted: where it is not, it is mounted for this
 * process alone, attached to no folder (fsmount, Linux 5.2), so that nothing is left behind.
 */
#pragma once

#include "base/error.h"

/* Opens it, while this process may, for calls of the others after that. */
void tracefs_open(void);

/* The text of the file PATH ("events/sched/sched_switch/id") in *TEXT (malloc), ended by a NUL. 0 or a negative errno;
 * ERR may be NULL. */
int tracefs_read(const char *path, char **text, struct error *err);

/* Calls VISIT for each folder in the folder PATH, in no order, until it returns other than 0. 0, what VISIT returned,
 * or a negative errno. */
int tracefs_list(const char *path, int (*visit)(const char *name, void *context), void *context, struct error *err);
