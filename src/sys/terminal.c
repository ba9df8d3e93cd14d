/* Terminals: which streams are some, and what is typed there. */
#include "sys/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
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

bool terminal_raw(int fd, struct termios *before)
{
    if (tcgetpgrp(fd) != getpgrp() || tcgetattr(fd, before) != 0)
        return false;
    struct termios raw = *before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    raw.c_cc[VSUSP] = _POSIX_VDISABLE;
    return tcsetattr(fd, TCSADRAIN, &raw) == 0;
}

void terminal_restore(int fd, const struct termios *modes)
{
    tcsetattr(fd, TCSADRAIN, modes);
}

int terminal_typed(int keys, char *bytes, int size)
{
    struct pollfd fds = {.fd = keys, .events = POLLIN};
    if (poll(&fds, 1, 0) <= 0)
        return 0;
    ssize_t count = read(keys, bytes, (size_t)size);
    if (count > 0)
        return (int)count;
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
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

static int resizes = -1;

static void on_resize(int number)
{
    (void)number;
    int kept = errno;
    eventfd_write(resizes, 1);
    errno = kept;
}

int terminal_resizes(void)
{
    struct sigaction action = {.sa_handler = on_resize, .sa_flags = SA_RESTART};
    if (resizes < 0)
        resizes = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return resizes < 0 || sigaction(SIGWINCH, &action, NULL) ? -1 : resizes;
}

void terminal_resized(void)
{
    eventfd_t count;
    eventfd_read(resizes, &count);
}
