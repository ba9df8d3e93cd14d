/* Terminals: which streams are some, and what is typed there. */
#include "sys/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

bool terminal_is(int fd)
{
    return isatty(fd) == 1;
}

int terminal_keys(int fd)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int keys = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return keys < 0 ? fd : keys;
}

int terminal_key(int keys, int wake)
{
    /* Ctrl-C throws away what was typed before it, also what poll has just seen: a blocking read would then wait on. */
    for (;;) {
        struct pollfd fds[] = {{.fd = wake, .events = POLLIN}, {.fd = keys, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return -1;
        if (fds[0].revents)
            return 0;
        if (!fds[1].revents)
            continue;
        unsigned char byte;
        ssize_t count = read(keys, &byte, 1);
        if (count == 1)
            return byte;
        if (count == 0 || (errno != EAGAIN && errno != EINTR))
            return -1;
    }
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
