#include "probe/stamp.h"

#include <errno.h>
#include <sys/stat.h>

int stamp_take(const char *path, struct stamp *stamp)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return -errno;
    *stamp = (struct stamp){.device = st.st_dev, .inode = st.st_ino, .size = st.st_size, .modified = st.st_mtim};
    return 0;
}

enum stamp_change stamp_compare(const struct stamp *stamp, const char *path)
{
    struct stamp now = {0};
    if (stamp_take(path, &now) < 0)
        return STAMP_SAME;
    if (now.device != stamp->device || now.inode != stamp->inode)
        return STAMP_REPLACED;
    return now.size == stamp->size && now.modified.tv_sec == stamp->modified.tv_sec && now.modified.tv_nsec == stamp->modified.tv_nsec
               ? STAMP_SAME : STAMP_WRITTEN;
}
