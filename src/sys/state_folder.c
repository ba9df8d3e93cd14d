/* The folder where uplua keeps what later runs can use. */
#include "sys/state_folder.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_KEPT = 16 }; /* bytes of a file's name that the name has under which it is written: its last ones */

/* True if nobody but us can write to FD, which is of this KIND. */
static bool is_ours(int fd, mode_t kind, struct stat *stat)
{
    return !fstat(fd, stat) && (stat->st_mode & S_IFMT) == kind && stat->st_uid == geteuid() && !(stat->st_mode & 022);
}

/* FD, if it is ours and of this KIND; else it is closed: -1. */
static int keep_ours(int fd, mode_t kind, struct stat *stat)
{
    if (fd < 0 || is_ours(fd, kind, stat))
        return fd;
    close(fd);
    return -1;
}

static bool folder_path(char *path, size_t size)
{
    const char *own = getenv("UPLUA_CACHE"), *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own)
        return snprintf(path, size, "%s", own) < (int)size && *own == '/';
    if (geteuid() == 0) /* whose HOME is often that of the user who calls sudo */
        return snprintf(path, size, "/var/cache/uplua") < (int)size;
    if (base && *base == '/')
        return snprintf(path, size, "%s/uplua", base) < (int)size;
    if (!home || *home != '/' || snprintf(path, size, "%s/.cache", home) >= (int)size)
        return false;
    mkdir(path, 0700);
    return snprintf(path, size, "%s/.cache/uplua", home) < (int)size;
}

int state_folder_open(void)
{
    char path[PATH_MAX];
    struct stat stat;
    if (!folder_path(path, sizeof path))
        return -1;
    mkdir(path, 0700);
    return keep_ours(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), S_IFDIR, &stat);
}

int state_folder_read(int folder, const char *name, struct stat *stat)
{
    return keep_ours(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), S_IFREG, stat);
}

static bool write_all(int fd, const struct iovec *parts, int count)
{
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += parts[i].iov_len;
    return writev(fd, parts, count) == (ssize_t)size;
}

void state_folder_write(int folder, const char *name, const struct iovec *parts, int count)
{
    char temporary[NAME_KEPT + 32];
    size_t length = strlen(name);
    snprintf(temporary, sizeof temporary, ".%d-%s", (int)getpid(),
             name + (length > NAME_KEPT ? length - NAME_KEPT : 0));
    int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    bool written = write_all(fd, parts, count);
    close(fd);
    if (!written || renameat(folder, temporary, folder, name))
        unlinkat(folder, temporary, 0);
}
