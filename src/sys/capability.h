/* What the process may do, for the messages when it may not. */
#ifndef UPLUA_SYS_CAPABILITY_H
#define UPLUA_SYS_CAPABILITY_H

/*
 * The capabilities that tracing needs and this process lacks: "CAP_BPF and CAP_PERFMON", "CAP_SYS_ADMIN" before Linux
 * 5.8; NULL if it has them.
 */
const char *capability_missing(void);

#endif
