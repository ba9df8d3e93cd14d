/* What is attached, for those who attach. */
#ifndef UPLUA_PROBE_LINK_H
#define UPLUA_PROBE_LINK_H

#include <stddef.h>

#include "probe/probe.h"

struct probe_link {
    int *fds; /* of links or perf events: closing them detaches */
    size_t count, capacity;
    char **refused; /* functions that the kernel puts no probe on, malloc'd */
    size_t refused_count;
};

/* Adds FD to LINK, which takes it over: closed where that fails. 0 or -ENOMEM. */
int link_keep(struct probe_link *link, int fd);

/* Notes that the kernel puts no probe on FUNCTION. 0 or -ENOMEM. */
int link_refuse(struct probe_link *link, const char *function);

#endif
