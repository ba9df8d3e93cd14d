/* Cgroups by a pattern of their paths: those that there are, and those that come later. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct cgroups;

/*
 * PATTERN is a path below the root of the cgroup v2 hierarchy, or one in /sys/fs/cgroup, such as
 * "system.slice/nginx*.service"; * ? [ match inside of a component, as in glob(7). 0 and *CGROUPS, which the caller
 * frees, or -errno and the reason in ERR. No cgroup need match yet.
 */
int cgroups_open(const char *pattern, struct cgroups **cgroups, struct error *err);
void cgroups_free(struct cgroups *cgroups); /* NULL is fine */

/* How far below the root all that match are, as bpf_get_current_ancestor_cgroup_id counts: 1 for its children. */
int cgroups_level(const struct cgroups *cgroups);
/* A descriptor that is readable when others may match than before. Owned by CGROUPS. */
int cgroups_fd(const struct cgroups *cgroups);

/*
 * Calls VISIT for each cgroup that matches now, with the id that the kernel knows it by, until it returns non-zero,
 * which is returned. 0 or -errno. What changes from here on makes the descriptor readable.
 */
int cgroups_each(struct cgroups *cgroups, int (*visit)(uint64_t id, const char *path, void *context), void *context);
