/* Questions to the file system and the environment before a script runs. */
#include "sys/path.h"

#include <errno.h>
#include <fcntl.h>
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

const char *path_environment(const char *name)
{
    return secure_getenv(name);
}
