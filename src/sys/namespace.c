/* Where this process stands among the kernel's namespaces. */
#include "sys/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/path.h"

/* PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h: the inode of the first PID namespace, since Linux 3.8. */
static const ino_t first_namespace = 0xEFFFFFFC;

const char *namespace_problem(void)
{
    struct stat own;
    if (stat("/proc/self/ns/pid", &own) || own.st_ino == first_namespace)
        return NULL;
    return "uplua runs in a PID namespace, as containers have, where processes have other numbers than in the kernel's "
           "handlers; "
           "run it outside, or in a container that shares the host's PIDs (docker run --pid=host)";
}

/* In a child: setns(2) to the mount namespace that a process is in makes the namespace's root its own. */
static void write_path(int space, int folder, int output)
{
    char path[PATH_MAX];
    bool written = setns(space, CLONE_NEWNS) == 0 && fchdir(folder) == 0 && getcwd(path, sizeof path) &&
                   write(output, path, strlen(path)) == (ssize_t)strlen(path);
    _exit(written ? 0 : 1);
}

char *namespace_root_path(void)
{
    char *path = NULL;
    int ends[2] = {-1, -1};
    int space = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    int folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (space < 0 || folder < 0 || pipe2(ends, O_CLOEXEC))
        goto out;
    pid_t child = fork();
    if (child == 0)
        write_path(space, folder, ends[1]);
    close(ends[1]);
    ends[1] = -1;
    size_t size;
    int status;
    if (child > 0) {
        path = path_read_all(ends[0], PATH_MAX, &size);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    }
    if (path && path[0] != '/') {
        free(path);
        path = NULL;
    }
out:
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    if (space >= 0)
        close(space);
    if (folder >= 0)
        close(folder);
    return path;
}
