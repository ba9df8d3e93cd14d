/* Processes and threads by descriptors. */
#include "sys/pidfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int pidfd_open_process(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    return fd < 0 ? -errno : fd;
}

int pidfd_open_thread(pid_t tid)
{
    int fd = (int)syscall(SYS_pidfd_open, tid, O_EXCL); /* PIDFD_THREAD */
    return fd < 0 ? -errno : fd;
}

int pidfd_signal(int pidfd, int signal)
{
    return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) < 0 ? -errno : 0;
}
