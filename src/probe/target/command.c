/* A command that uplua starts and executes when the probes are in place. */
#include "probe/target/command.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * uplua blocks and catches signals for its own loop, and a mask and ignored signals survive execve: the command must
 * get those that uplua itself was started with, as if the user had started it alone.
 */
static sigset_t initial_mask;
static bool initially_ignored[NSIG];

__attribute__((constructor)) static void remember_signals(void)
{
    sigprocmask(SIG_BLOCK, NULL, &initial_mask);
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        initially_ignored[i] = sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
    }
}

static void restore_signals(void)
{
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) < 0)
            continue;
        /* Handlers are reset here, not by execve, so that none of uplua's runs in the child. */
        if (action.sa_handler != SIG_DFL || initially_ignored[i]) {
            memset(&action, 0, sizeof action);
            action.sa_handler = initially_ignored[i] ? SIG_IGN : SIG_DFL;
            sigaction(i, &action, NULL);
        }
    }
    sigprocmask(SIG_SETMASK, &initial_mask, NULL);
}

/* What the child is told by a byte. */
enum { STAND_APART = 'a', EXECUTE = 'x' };

/* A command with a process group of its own is not the terminal's foreground, and would be stopped where it reads from
 * there. */
static int stand_apart(void)
{
    if (setpgid(0, 0) < 0)
        return -errno;
    if (tcgetpgrp(STDIN_FILENO) < 0)
        return 0;
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ? -errno : 0;
}

/* In the child; only async-signal-safe calls. It makes none between EXECUTE and the execve: its probes would see
 * them. */
_Noreturn static void wait_and_execute(const char *path, char *const argv[], char *const shell_argv[], int control)
{
    extern char **environ;
    const char *slash = strrchr(path, '/');
    prctl(PR_SET_NAME, slash ? slash + 1 : path); /* as execve will: what is seen of it before that is the command's */
    restore_signals();
    char go;
    ssize_t n;
    while ((n = read(control, &go, 1)) != 1 || go != EXECUTE) {
        if (n == 1) {
            int result = stand_apart();
            send(control, &result, sizeof result, MSG_NOSIGNAL);
        } else if (n == 0 || errno != EINTR) {
            _exit(127);
        }
    }
    execve(path, argv, environ);
    int result = -errno;
    if (result == -ENOEXEC) {
        /* A script without #!, which shells and execvp run by the shell. */
        execve(_PATH_BSHELL, shell_argv, environ);
        result = -errno;
    }
    send(control, &result, sizeof result, MSG_NOSIGNAL);
    _exit(result == -ENOENT ? 127 : 126);
}

int command_fork(const char *path, char *const argv[], pid_t *pid, int *control, struct error *err)
{
    size_t count = 0;
    while (argv[count])
        count++;
    char **shell_argv = calloc(count + 2, sizeof *shell_argv);
    if (!shell_argv)
        return error_set(err, -ENOMEM, "out of memory");
    shell_argv[0] = (char *)"sh";
    shell_argv[1] = (char *)path;
    for (size_t i = 1; i < count; i++)
        shell_argv[i + 1] = argv[i];

    int result = 0, ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        result = error_set(err, -errno, "%s: cannot start: %s", path, error_reason(errno));
        goto out;
    }
    if (initially_ignored[SIGCHLD])
        signal(SIGCHLD, SIG_DFL); /* or the kernel reaps the command, and its status is lost */
    pid_t child = fork();
    if (child < 0) {
        result = error_set(err, -errno, "%s: cannot start: %s", path, error_reason(errno));
        close(ends[0]);
        close(ends[1]);
        goto out;
    }
    if (child == 0) {
        close(ends[0]);
        wait_and_execute(path, argv, shell_argv, ends[1]);
    }
    close(ends[1]);
    *pid = child;
    *control = ends[0];
out:
    free(shell_argv);
    return result;
}

/* Tells the child at CONTROL to do WHAT: the number that it answers, 0 where it closes its end instead. */
static int tell(int control, char what)
{
    if (send(control, &what, 1, MSG_NOSIGNAL) < 0)
        return errno == EPIPE || errno == ECONNRESET ? 0 : -errno; /* it was killed: its status tells */
    int result = 0;
    ssize_t n;
    do {
        n = recv(control, &result, sizeof result, MSG_WAITALL);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof result ? result : 0;
}

int command_set_apart(int control)
{
    return tell(control, STAND_APART);
}

int command_release(int control)
{
    return tell(control, EXECUTE); /* an execve that succeeds closes the child's end */
}
