/* Programs by their name, as a shell finds them. */
#include "probe/module/path_search.h"

#include <errno.h>
#include <paths.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0 if PATH is a file that may be executed. */
static int check_executable(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
        return -EACCES;
    return 0;
}

int program_find(const char *name, char **path, struct error *err)
{
    *path = NULL;
    if (!*name)
        return error_set(err, -ENOENT, "the command's name is empty");
    if (strchr(name, '/')) {
        int result = check_executable(name);
        if (result < 0)
            return error_set(err, result, "%s: %s", name, error_reason(result));
        *path = strdup(name);
        return *path ? 0 : error_set(err, -ENOMEM, "out of memory");
    }
    const char *list = getenv("PATH");
    if (!list)
        list = _PATH_DEFPATH;
    int denied = 0;
    for (;;) {
        size_t length = strcspn(list, ":");
        char *candidate;
        /* An empty element of $PATH is the current folder. */
        if (asprintf(&candidate, "%.*s%s%s", (int)length, list, length ? "/" : "./", name) < 0)
            return error_set(err, -ENOMEM, "out of memory");
        int result = check_executable(candidate);
        if (result == 0) {
            *path = candidate;
            return 0;
        }
        free(candidate);
        if (result == -EACCES)
            denied = result;
        if (!list[length])
            break;
        list += length + 1;
    }
    if (denied)
        return error_set(err, denied, "%s: permission denied: the file in $PATH is not executable", name);
    if (*name == '-' || (*name >= '0' && *name <= '9'))
        return error_set(err, -ENOENT, "%s: command not found; a PID is a number of digits alone", name);
    return error_set(err, -ENOENT, "%s: command not found", name);
}
