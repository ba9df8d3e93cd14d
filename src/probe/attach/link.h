/* Links: the attached programs, for the files that attach. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "probe/probe.h"

struct probe_link {
    int *fds; /* of links or perf events: closing them detaches */
    size_t count, capacity;
    pid_t *pids; /* of each of these the process whose hits alone it sees; 0: it sees those of all */
    size_t pid_capacity;
    pid_t pid;      /* the same of what is kept from now on */
    char **refused; /* functions that the kernel puts no probe on, malloc'd */
    size_t refused_count;
    struct probed_file {
        char *path, *name; /* as a site's path and module, malloc'd */
        struct stamp stamp;
    } * files;
    size_t file_count;
};

/* Makes *LINK, of nothing yet. 0 or -ENOMEM. */
int link_new(struct probe_link **link, struct error *err);
/* Adds FD to LINK, which takes it over: closed where that fails. 0, -ENOMEM, or FD where that is a negative errno. */
int link_keep(struct probe_link *link, int fd);
/* Takes what is for the process PID out of LINK, into *GONE; NULL where it has nothing for that. 0, or -ENOMEM: nothing
 * was taken. */
int link_take(struct probe_link *link, pid_t pid, struct probe_link **gone);
/* Returns RESULT, of what made *LINK, which it detaches where that is a negative errno. */
int link_settle(struct probe_link **link, int result);
/* All of these, of FD alone. */
int link_one(struct probe_link **link, int fd);

/* Notes that the kernel puts no probe on FUNCTION. 0 or -ENOMEM. */
int link_refuse(struct probe_link *link, const char *function);

/* Notes the file of SITE, in which LINK has probes now. 0 or -ENOMEM. */
int link_file(struct probe_link *link, const struct site *site);
