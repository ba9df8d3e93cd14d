/* Tells whether a file was replaced or written to since it was looked at. */
#include "probe/module/file_stamp.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

struct stamp stamp_of(const struct stat *stat)
{
    return (struct stamp){
        .device = stat->st_dev, .inode = stat->st_ino, .size = stat->st_size, .modified = stat->st_mtim};
}

enum stamp_change stamp_compare(const struct stamp *stamp, const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return STAMP_SAME;
    struct stamp now = stamp_of(&st);
    if (now.device != stamp->device || now.inode != stamp->inode)
        return STAMP_REPLACED;
    return now.size == stamp->size && now.modified.tv_sec == stamp->modified.tv_sec &&
                   now.modified.tv_nsec == stamp->modified.tv_nsec
               ? STAMP_SAME
               : STAMP_WRITTEN;
}

int stamp_watcher(void)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

void stamp_watch(int watcher, const char *path)
{
    /* Its number of names is an attribute, which changes when another file takes one over. */
    inotify_add_watch(watcher, path, IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_ONESHOT);
}

void stamp_forget(int watcher)
{
    char events[4096];
    while (read(watcher, events, sizeof events) > 0)
        continue;
}
