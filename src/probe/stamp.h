/* Which file a path led to when probes were put into it, and what has become of it since: they stay in that file, whatever its name means then. */
#ifndef UPLUA_PROBE_STAMP_H
#define UPLUA_PROBE_STAMP_H

#include <sys/types.h>
#include <time.h>

struct stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified;
};

enum stamp_change {
    STAMP_SAME, /* or nobody can tell: the name leads nowhere any more */
    STAMP_REPLACED,
    STAMP_WRITTEN,
};

/* Notes what PATH leads to. 0 or -errno. */
int stamp_take(const char *path, struct stamp *stamp);
enum stamp_change stamp_compare(const struct stamp *stamp, const char *path);

#endif
