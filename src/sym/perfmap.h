/*
 * Names of code that a process makes as it runs: compilers such as node's, Java's or Python's write them to the file
 * /tmp/perf-PID.map, "START SIZE NAME" per line, numbers in hexadecimal. The file is the process's own word: it is read
 * only if it belongs to the process's user (or root) and was written since the process began.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct perfmap;

/* Whose file it is. */
struct perfmap_owner {
    pid_t pid; /* as the process itself sees it */
    uid_t uid;
    int64_t started; /* s, CLOCK_REALTIME */
    int root;        /* its root directory where it differs from ours, else -1 */
};

struct perfmap *perfmap_new(void);
void perfmap_free(struct perfmap *perfmap); /* NULL is fine */

/*
 * The name of what is at ADDRESS, with its distance from the start in *OFFSET: the one written last counts. NULL where
 * there is none; the file is looked at again then if it was not looked at a moment ago. Owned by PERFMAP, valid until
 * the next call.
 */
const char *perfmap_lookup(struct perfmap *perfmap, const struct perfmap_owner *owner, uint64_t address,
                           uint64_t *offset);

/*
 * Reads the file again if it has changed, and that was not done a moment ago: true if it was read since the last call,
 * here or by perfmap_lookup, so that names may have changed.
 */
bool perfmap_refresh(struct perfmap *perfmap, const struct perfmap_owner *owner);
