/*
 * The file that a path named when uplua found places for probes in it, and its changes since. Probes go into that file,
 * whatever its name means by then, and to those places, whatever is written there.
 */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

struct stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    /* by the clock of the file system, which may go on in steps of 10 ms: two writes in one of them look like one */
    struct timespec modified;
};

enum stamp_change {
    STAMP_SAME, /* or nobody can tell: the name leads nowhere any more */
    STAMP_REPLACED,
    STAMP_WRITTEN,
};

/* Of the file that STAT describes. */
struct stamp stamp_of(const struct stat *stat);
/* What has become of the file of STAMP, to which PATH led. */
enum stamp_change stamp_compare(const struct stamp *stamp, const char *path);

/*
 * A descriptor that is readable once a file that is watched may have changed: inotify(7). -errno where there is none.
 * Owned by the caller, who calls stamp_forget when it was readable.
 */
int stamp_watcher(void);
/* Watches the file of PATH until the next change of it; where that cannot be, it is not watched. */
void stamp_watch(int watcher, const char *path);
void stamp_forget(int watcher);
