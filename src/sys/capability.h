/* What the process may do. */
#pragma once

#include <stdbool.h>

/*
 * The capabilities that tracing needs and this process lacks: "CAP_BPF and CAP_PERFMON", "CAP_SYS_ADMIN" before Linux
 * 5.8; NULL if it has them.
 */
const char *capability_missing(void);

/* Whether it may trace any program: one with rights of its own (setuid, file capabilities) does not get these while
 * others trace it. */
bool capability_ptrace(void);
