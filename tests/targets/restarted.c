/*
 * restarted: handlers of signals that return, a sleep that one ends, a read that several interrupt and the kernel makes
 * again, and 25 calls that seccomp refuses. Prints how many handlers have run, which is the number of rt_sigreturn.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int handled;

static void handle(int signal)
{
    (void)signal;
    handled++;
}

static void set_timer(int microseconds)
{
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

int main(void)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    for (int i = 0; i < 10; i++)
        raise(SIGUSR1);

    int pipe_ends[2];
    if (pipe(pipe_ends))
        return 1;
    set_timer(50000);
    int slept = nanosleep(&(struct timespec){60, 0}, NULL), error = errno;
    set_timer(0);

    pid_t child = fork();
    if (child == 0) {
        usleep(400000);
        _exit(write(pipe_ends[1], "x", 1) != 1);
    }
    set_timer(50000);
    char byte;
    ssize_t got = read(pipe_ends[0], &byte, 1);
    set_timer(0);

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return 1;
    int refused = 0;
    for (int i = 0; i < 25; i++)
        refused += syscall(SYS_getppid) == -1 && errno == EPERM;
    printf("%d %d %d %zd %d\n", handled, slept, error == EINTR, got, refused);
    return 0;
}
