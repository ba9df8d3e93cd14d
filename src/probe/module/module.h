/* Programs and libraries as files: which ones a process has mapped, and by which path the kernel finds them. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct module {
    char *path; /* opens it from here: /proc/4242/root/usr/lib/libc.so.6 */
    char *name; /* as its process sees it: /usr/lib/libc.so.6 */
    dev_t device;
    ino_t inode;
};

struct modules {
    struct module *items;
    size_t count;
    /* names of files that a process has mapped, that were deleted or replaced since, and that only root gets at */
    char **unreached;
    size_t unreached_count;
};

/*
 * Appends the file that PATH opens, called NAME, unless it is there already. Both strings are copied. 0, or -errno
 * where PATH is no regular file.
 */
int modules_add(struct modules *modules, const char *path, const char *name);
/* The one that is the file with DEVICE and INODE, or NULL. */
struct module *modules_find(const struct modules *modules, dev_t device, ino_t inode);
void modules_free(struct modules *modules);

/*
 * The executable files that process PID has mapped, its program first. A file that was deleted or replaced since is
 * reached through /proc/PID/map_files, which needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE: without, it is UNREACHED.
 */
int modules_of_process(pid_t pid, struct modules *modules, struct error *err);

/* The last component of PATH. */
const char *path_basename(const char *path);

/*
 * PATH, absolute, followed through symbolic links inside the folder ROOT ("": our own root): malloc'd, absolute inside
 * ROOT, free of links. NULL with errno set where it does not exist.
 */
char *path_resolve(const char *root, const char *path);
