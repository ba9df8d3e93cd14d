/* Reads tracefs, and makes events there. */
#include "sys/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "sys/path.h"

/* A mount that no folder shows: its descriptor, or -errno. */
static int mount_detached(void)
{
    int context = fsopen("tracefs", FSOPEN_CLOEXEC);
    if (context < 0)
        return -errno;
    int mount = fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 ? -1 : fsmount(context, FSMOUNT_CLOEXEC, 0);
    int result = mount < 0 ? -errno : mount;
    close(context);
    return result;
}

/* The folder of tracefs, opened once: its descriptor, or -errno. */
static int root(void)
{
    static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    static int opened = -1;
    int denied = 0;
    if (opened >= 0)
        return opened;
    for (size_t i = 0; i < sizeof places / sizeof *places && opened < 0; i++) {
        int folder = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder < 0 && errno == EACCES)
            denied = -EACCES;
        else if (folder >= 0 && faccessat(folder, "events", R_OK | X_OK, 0) == 0)
            opened = folder;
        else if (folder >= 0)
            close(folder);
    }
    if (opened < 0)
        opened = mount_detached();
    return opened < 0 && denied ? denied : opened;
}

static int failed(int code, const char *path, struct error *err)
{
    switch (code) {
    case -EPERM:
    case -EACCES:
        return error_set(err, code,
                         "the kernel's description of its tracepoints (tracefs) cannot be read: this needs "
                         "root, or CAP_DAC_READ_SEARCH where it is mounted");
    case -ENODEV:
        return error_set(err, code, "this kernel has no tracepoints (no tracefs)");
    default:
        return error_set(err, code, "tracefs: %s: %s", path, error_reason(code));
    }
}

void tracefs_open(void)
{
    root();
}

static int open_at(const char *path, int flags)
{
    int folder = root();
    int fd = folder < 0 ? folder : openat(folder, path, flags | O_RDONLY | O_CLOEXEC);
    return fd < 0 && folder >= 0 ? -errno : fd;
}

int tracefs_read(const char *path, char **text, struct error *err)
{
    enum { MOST = 1 << 20 };
    size_t size;
    *text = NULL;
    int fd = open_at(path, 0);
    if (fd < 0)
        return failed(fd, path, err);
    *text = path_read_all(fd, MOST, &size);
    int code = *text ? 0 : -errno;
    close(fd);
    return code ? failed(code, path, err) : 0;
}

int tracefs_list(const char *path, int (*visit)(const char *name, void *context), void *context, struct error *err)
{
    int fd = open_at(path, O_DIRECTORY), code = 0;
    if (fd < 0)
        return failed(fd, path, err);
    DIR *folder = fdopendir(fd);
    if (!folder) {
        close(fd);
        return failed(-ENOMEM, path, err);
    }
    for (struct dirent *entry; !code && (entry = readdir(folder));)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            code = visit(entry->d_name, context);
    closedir(folder);
    return code;
}
