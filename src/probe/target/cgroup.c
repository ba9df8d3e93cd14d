/*
 * A cgroup's id is the inode number of its folder. All that one pattern means lie on one level, so that a handler needs
 * to ask only for the id of its thread's ancestor there (compile/lower/filter.c). Folders in which another match could
 * appear are watched by inotify(7).
 */
#include "probe/target/cgroup.h"

#include <errno.h>
#include <glob.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOT_INODE = 1, MAX_LEVEL = 128 };

struct cgroups {
    char *path;             /* the whole pattern, absolute */
    size_t ends[MAX_LEVEL]; /* of its beginnings: the root's length, then behind each component */
    int level;
    int inotify;
};

/* Where the hierarchy is mounted: malloc'd, NULL where it is not. */
static char *find_root(void)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    char *root = NULL;
    for (struct mntent *entry; mounts && !root && (entry = getmntent(mounts));)
        if (strcmp(entry->mnt_type, "cgroup2") == 0)
            root = strdup(entry->mnt_dir);
    if (mounts)
        endmntent(mounts);
    return root;
}

/* Appends the components of PATTERN to the path, which has room for them. */
static int add_components(struct cgroups *cgroups, const char *pattern, struct error *err)
{
    char *to = cgroups->path + cgroups->ends[0];
    for (const char *at = pattern; *at;) {
        size_t length = strcspn(at, "/");
        if (length && (strncmp(at, ".", length) == 0 || strncmp(at, "..", length) == 0))
            return error_set(err, -EINVAL,
                             "--cgroup %s: write the path from the root of the hierarchy on, without '.' and '..'",
                             pattern);
        if (length && cgroups->level + 1 == MAX_LEVEL)
            return error_set(err, -EINVAL, "--cgroup %s: cgroups are no more than %d deep", pattern, MAX_LEVEL - 2);
        if (length) {
            *to++ = '/';
            memcpy(to, at, length);
            to += length;
            cgroups->ends[++cgroups->level] = (size_t)(to - cgroups->path);
        }
        at += length + (at[length] == '/');
    }
    *to = '\0';
    return cgroups->level ? 0 : error_set(err, -EINVAL, "--cgroup %s: that is the root, where everybody is", pattern);
}

static int open_in(struct cgroups *cgroups, const char *root, const char *pattern, struct error *err)
{
    struct stat status;
    size_t length = strlen(root);
    if (stat(root, &status))
        return error_set(err, -errno, "--cgroup: %s: %s", root, error_reason(errno));
    if (status.st_ino != ROOT_INODE)
        return error_set(err, -EOPNOTSUPP,
                         "--cgroup: %s is not the machine's root, but that of a cgroup namespace: run uplua outside of "
                         "the container",
                         root);
    if (strncmp(pattern, root, length) == 0 && (pattern[length] == '/' || !pattern[length]))
        pattern += length;
    cgroups->path = malloc(length + strlen(pattern) + 2);
    if (!cgroups->path)
        return error_set(err, -ENOMEM, "out of memory");
    memcpy(cgroups->path, root, length);
    cgroups->ends[0] = length;
    int result = add_components(cgroups, pattern, err);
    if (result < 0)
        return result;
    cgroups->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    return cgroups->inotify < 0
               ? error_set(err, -errno, "--cgroup %s: cannot watch for new ones: %s", pattern, error_reason(errno))
               : 0;
}

int cgroups_open(const char *pattern, struct cgroups **result, struct error *err)
{
    struct cgroups *cgroups = calloc(1, sizeof *cgroups);
    char *root = find_root();
    int code =
        !cgroups ? error_set(err, -ENOMEM, "out of memory")
        : !root
            ? error_set(err, -EOPNOTSUPP,
                        "--cgroup: no cgroup v2 hierarchy is mounted (mount -t cgroup2 none /sys/fs/cgroup/unified)")
            : 0;
    *result = cgroups;
    if (cgroups)
        cgroups->inotify = -1;
    if (code == 0)
        code = open_in(cgroups, root, pattern, err);
    free(root);
    if (code < 0) {
        cgroups_free(cgroups);
        *result = NULL;
    }
    return code;
}

void cgroups_free(struct cgroups *cgroups)
{
    if (!cgroups)
        return;
    if (cgroups->inotify >= 0)
        close(cgroups->inotify);
    free(cgroups->path);
    free(cgroups);
}

int cgroups_level(const struct cgroups *cgroups)
{
    return cgroups->level;
}

int cgroups_fd(const struct cgroups *cgroups)
{
    return cgroups->inotify;
}

/* Calls VISIT for the folders that the pattern's first LEVEL components match. */
static int each_at(const struct cgroups *cgroups, int level, int (*visit)(uint64_t id, const char *path, void *context),
                   void *context)
{
    glob_t found;
    char *pattern = strndup(cgroups->path, cgroups->ends[level]);
    int result = pattern ? glob(pattern, GLOB_NOSORT | GLOB_ONLYDIR, NULL, &found) : GLOB_NOSPACE;
    free(pattern);
    if (result)
        return result == GLOB_NOSPACE ? -ENOMEM : 0;
    for (size_t i = 0; i < found.gl_pathc && result == 0; i++) {
        struct stat status;
        if (stat(found.gl_pathv[i], &status) == 0 && S_ISDIR(status.st_mode))
            result = visit(status.st_ino, found.gl_pathv[i], context);
    }
    globfree(&found);
    return result;
}

static int watch_folder(uint64_t id, const char *path, void *context)
{
    const struct cgroups *cgroups = context;
    (void)id;
    int watch = inotify_add_watch(cgroups->inotify, path, IN_CREATE | IN_DELETE | IN_MOVE | IN_ONLYDIR);
    return watch < 0 && errno != ENOENT ? -errno : 0; /* it may be gone by now */
}

int cgroups_each(struct cgroups *cgroups, int (*visit)(uint64_t id, const char *path, void *context), void *context)
{
    char events[4096];
    while (read(cgroups->inotify, events, sizeof events) > 0)
        continue;
    int result = 0;
    /* A folder is watched before it is looked into, so that nothing falls between. */
    for (int level = 0; level < cgroups->level && result == 0; level++)
        result = each_at(cgroups, level, watch_folder, cgroups);
    return result ? result : each_at(cgroups, cgroups->level, visit, context);
}
