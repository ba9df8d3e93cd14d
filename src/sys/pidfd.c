/* Processes and threads by descriptors. */
#include "sys/pidfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

/* struct pidfd_info of include/uapi/linux/pidfd.h, Linux 6.15, which is newer than the headers that we build with. */
struct pidfd_info {
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid, ids[8];
    int32_t exit_code;
};
_Static_assert(sizeof(struct pidfd_info) == 64, "PIDFD_INFO_SIZE_VER0");
#define GET_INFO _IOWR(0xff, 11, struct pidfd_info) /* PIDFD_GET_INFO */
enum { INFO_EXIT = 1 << 3 };                        /* PIDFD_INFO_EXIT */

int pidfd_ended_by(int pidfd)
{
    struct pidfd_info info = {.mask = INFO_EXIT};
    if (ioctl(pidfd, GET_INFO, &info) < 0)
        return -errno;
    if (!(info.mask & INFO_EXIT))
        return -ENODATA;
    return WIFSIGNALED(info.exit_code) ? WTERMSIG(info.exit_code) : 0;
}

int pidfd_signal(int pidfd, int signal)
{
    return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) < 0 ? -errno : 0;
}
