/* Tells of files in a folder that have been made, written, put there or removed (inotify(7)). */
#include "sys/file_watch.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

int file_watch_open(const char *folder, struct error *err)
{
    enum { events = IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_MOVE_SELF | IN_ONLYDIR };
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd >= 0 && inotify_add_watch(fd, folder, events) >= 0)
        return fd;
    int code = errno;
    if (fd >= 0)
        close(fd);
    return error_set(err, -code, "%s cannot be watched: %s", folder, error_reason(code));
}

bool file_watch_read(int fd, bool *gone, void (*visit)(const char *name, bool made, void *context), void *context)
{
    union {
        struct inotify_event event; /* for its alignment */
        char bytes[4096];
    } buffer;
    bool complete = true;
    *gone = false;
    for (;;) {
        ssize_t size = read(fd, &buffer, sizeof buffer);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return complete;
        for (const char *at = buffer.bytes; at < buffer.bytes + size;) {
            const struct inotify_event *event = (const void *)at;
            complete &= !(event->mask & IN_Q_OVERFLOW);
            *gone |= (event->mask & (IN_MOVE_SELF | IN_IGNORED)) != 0;
            if (event->len)
                visit(event->name, (event->mask & IN_CREATE) != 0, context);
            at += sizeof *event + event->len;
        }
    }
}
