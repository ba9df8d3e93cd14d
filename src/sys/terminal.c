#include "sys/terminal.h"

#include <fcntl.h>
#include <unistd.h>

bool terminal_is(int fd)
{
    return isatty(fd) == 1;
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
