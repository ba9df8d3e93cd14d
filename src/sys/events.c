/* One epoll instance: descriptors that become readable, and a time. */
#include "sys/events.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

enum { BATCH = 64 };

int events_open(struct error *err)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    return fd < 0 ? error_set(err, -errno, "cannot make an epoll instance: %s", error_reason(errno)) : fd;
}

int events_add(int events, int fd, bool edge, struct error *err)
{
    struct epoll_event event = {.events = edge ? EPOLLIN | EPOLLET : EPOLLIN, .data.fd = fd};
    if (epoll_ctl(events, EPOLL_CTL_ADD, fd, &event) == 0)
        return 0;
    if (errno == EPERM)
        return error_set(err, -EPERM, "descriptor %d cannot be waited for: it is a regular file", fd);
    return error_set(err, -errno, "cannot wait for descriptor %d: %s", fd, error_reason(errno));
}

void events_remove(int events, int fd)
{
    epoll_ctl(events, EPOLL_CTL_DEL, fd, NULL);
}

int events_wait(int events, int64_t ns, int *ready, size_t max)
{
    struct epoll_event batch[BATCH];
    const struct timespec timeout = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    int count = epoll_pwait2(events, batch, max < BATCH ? (int)max : BATCH, ns < 0 ? NULL : &timeout, NULL);
    if (count < 0)
        return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++)
        ready[i] = batch[i].data.fd;
    return count;
}

double events_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
