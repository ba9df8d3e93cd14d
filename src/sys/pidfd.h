/* Signals through a pidfd: never to a process that merely got the same number. */
#ifndef UPLUA_SYS_PIDFD_H
#define UPLUA_SYS_PIDFD_H

/* Sends SIGNAL to the process of PIDFD (pidfd_send_signal, Linux 5.1). 0 or -errno. */
int pidfd_signal(int pidfd, int signal);

#endif
