/* Whom a run traces: processes that run, a command about to start, or the whole machine. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct target {
    pid_t *pids; /* of a command too, once target_start has created its process */
    size_t count;
    pid_t *tids; /* the only threads of these processes that are traced; NULL: all */
    size_t tid_count;
    /* of the threads, where there are some, else of the processes: see procstat_birth; NULL: they live */
    uint64_t *births;
    bool follow;   /* their children are traced, too, and so on: the kernel keeps a list (target/follow.lua) */
    bool command;  /* pids[0] is a child that waits for target_release */
    char *program; /* the command's resolved executable, else NULL */
    /* private to target.c */
    int release_fd;
    bool held; /* the command stands at its first instruction */
    int *pidfds;
    size_t pidfd_count; /* of the threads, where there are some, else of the processes */
    int status;         /* of a reaped command, else -1 */
    int ended_by;       /* the signal that ended it; 0: none has */
};

/* The whole machine: no pids. Never fails. */
void target_init(struct target *target);

/* Traces the COUNT processes PIDS: each must exist ("no process 4242"), be 64-bit (an ELF of this machine's class), and
 * not be a thread id. */
int target_attach(struct target *target, const pid_t *pids, size_t count, struct error *err);

/* The same for the COUNT threads TIDS and their processes. The target is over when the threads are, before Linux 6.9
 * when the processes are. */
int target_attach_threads(struct target *target, const pid_t *tids, size_t count, struct error *err);

/*
 * Forks a child that will execute ARGV (found in $PATH; NULL-terminated) once target_release is called, in its own
 * place in the terminal's foreground group, with the signal mask and dispositions uplua was started with. The child
 * dies with uplua as long as it has not been released. A command that cannot be executed is an error here:
 * "nosuch: command not found".
 */
int target_start(struct target *target, char *const argv[], struct error *err);
/* Puts the command, which has to wait still, out of reach of the terminal's Ctrl-C and input: see command_set_apart. */
int target_set_apart(struct target *target, struct error *err);
/* Lets the child execute the command. Returns 0, or the child's execve failure. */
int target_release(struct target *target, struct error *err);

/*
 * The same, but the command stands still at its first instruction, where its program and libraries are mapped, until
 * target_continue: for what has to know where they are. It dies with uplua until then. A command that ends before is no
 * error: its status tells. Where the system does not let it be held, or a program with rights of its own might lose
 * them by it, that is an error if it MUST, else it goes on.
 */
int target_release_held(struct target *target, bool must, struct error *err);
void target_continue(struct target *target);

/* pidfd of process or thread I, readable when it has exited (for epoll), -1 behind the last; owned by TARGET. */
int target_pidfd(const struct target *target, size_t i);
/* Reaps a command that has exited: its exit status, 128 + signal number if a signal ended it; -1 while it runs. */
int target_status(struct target *target);
/* The signal that has ended the command or one of the processes; 0: none has, or it is not known (sys/pidfd.h). */
int target_ended_by(struct target *target);
/* Closes the descriptors; a child that was not released, or not continued, is ended and reaped. A released one goes
 * on. */
void target_close(struct target *target);
