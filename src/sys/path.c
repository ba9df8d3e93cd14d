/* Questions to the file system before a script runs. */
#include "sys/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *path_executable(void)
{
    return realpath("/proc/self/exe", NULL);
}

char *path_real(const char *path)
{
    return realpath(path, NULL);
}

char *path_link_target(const char *path)
{
    char target[PATH_MAX + 1];
    ssize_t length = readlink(path, target, PATH_MAX);
    return length < 0 ? NULL : strndup(target, (size_t)length);
}

bool path_is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int result = mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
        *slash = '/';
        if (result < 0)
            return result;
    }
    return 0;
}

int path_create_private(const char *path)
{
    if (path[0] != '/')
        return -EINVAL;
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    int result = make_folders(copy);
    free(copy);
    if (result < 0)
        return result;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

char *path_read_all(int fd, size_t most, size_t *size)
{
    enum { AT_FIRST = 16 << 10 };
    char *bytes = NULL;
    size_t used = 0, capacity = 0;
    ssize_t got = 1;
    while (got > 0 || (got < 0 && errno == EINTR)) {
        if (capacity - used < 2) {
            capacity = capacity ? 2 * capacity : AT_FIRST;
            errno = ENOMEM;
            char *grown = used > most ? NULL : realloc(bytes, capacity);
            if (!grown)
                break;
            bytes = grown;
        }
        got = read(fd, bytes + used, capacity - used - 1);
        used += got > 0 ? (size_t)got : 0;
    }
    if (got != 0) {
        free(bytes);
        return NULL;
    }
    bytes[used] = '\0';
    *size = used;
    return bytes;
}
