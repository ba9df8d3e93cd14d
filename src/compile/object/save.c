/* The object as a file, for tools that read BPF objects. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "compile/object/object.h"

static int write_file(const char *path, const void *bytes, size_t size, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return error_set(err, -errno, "cannot write %s: %s", path, error_reason(errno));
    ssize_t written = write(fd, bytes, size);
    int failure = written < 0 ? errno : 0;
    if (close(fd) && !failure)
        failure = errno;
    if (written == (ssize_t)size && !failure)
        return 0;
    return error_set(err, failure ? -failure : -ENOSPC, "cannot write %s: %s", path,
                     error_reason(failure ? failure : ENOSPC));
}

int object_save(const struct object *object, const void *library, size_t library_size, const char *path,
                struct error *err)
{
    void *bytes = NULL;
    size_t size = 0;
    int status = object_link(object, library, library_size, &bytes, &size, err);
    if (!status)
        status = write_file(path, bytes, size, err);
    free(bytes);
    return status;
}
