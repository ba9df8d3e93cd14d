#include "sys/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

bool terminal_is(int fd)
{
    return isatty(fd) == 1;
}

bool terminal_readable(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
    return poll(&poll_fd, 1, 0) == 1;
}

FILE *terminal_stream(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return NULL;
    FILE *stream = fdopen(copy, "w");
    if (!stream)
        close(copy);
    return stream;
}
