/* Processes and threads by descriptors: never those that merely got the same number. */
#pragma once

#include <sys/types.h>

/* A descriptor of process PID that is readable once it has exited, closed on exec as all of them are (Linux 5.3); or
 * -errno. */
int pidfd_open_process(pid_t pid);
/* The same of thread TID (Linux 6.9; -EINVAL before). */
int pidfd_open_thread(pid_t tid);
/* The signal that has ended the process of PIDFD, 0: none has. -errno where that is not known: it has not ended, nobody
 * has waited for it yet, or the kernel does not tell (PIDFD_INFO_EXIT, Linux 6.15). */
int pidfd_ended_by(int pidfd);
/* Sends SIGNAL to the process of PIDFD (pidfd_send_signal, Linux 5.1). 0 or -errno. */
int pidfd_signal(int pidfd, int signal);
