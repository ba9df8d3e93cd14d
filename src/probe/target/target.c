/* The target: the processes, the threads or the command that is traced. */
#include "probe/target.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/module/path_search.h"
#include "probe/target/command.h"
#include "probe/target/process.h"
#include "probe/target/run_to_entry.h"
#include "sys/capability.h"
#include "sys/pidfd.h"
#include "sys/procstat.h"

void target_init(struct target *target)
{
    memset(target, 0, sizeof *target);
    target->release_fd = -1;
    target->status = -1;
}

/*
 * Into *BIRTH when PID, of which FD is the descriptor, began. A descriptor does not keep the number from being given
 * away again, but only once it has exited: so what was read is its own, unless FD tells that.
 */
static int read_birth(pid_t pid, int fd, uint64_t *birth, struct error *err)
{
    struct pollfd exit = {.fd = fd, .events = POLLIN};
    if (!procstat_birth(pid, birth) || poll(&exit, 1, 0) > 0)
        return error_set(err, -ESRCH, "%d has just exited", (int)pid);
    return 0;
}

/* Room in TARGET for COUNT processes, and WITH_THREADS for as many threads. */
static int make_room(struct target *target, size_t count, bool with_threads, struct error *err)
{
    target->pids = calloc(count, sizeof *target->pids);
    target->tids = with_threads ? calloc(count, sizeof *target->tids) : NULL;
    target->pidfds = calloc(count, sizeof *target->pidfds);
    target->births = calloc(count, sizeof *target->births);
    return target->pids && target->pidfds && target->births && (target->tids || !with_threads)
               ? 0
               : error_set(err, -ENOMEM, "out of memory");
}

/* Keeps FD, or the -errno that it is, of ID, a "process" or "thread" as WHAT says: closed where that fails. */
static int keep(struct target *target, const char *what, pid_t id, int fd, struct error *err)
{
    if (fd < 0)
        return error_set(err, fd, "cannot watch %s %d: %s", what, (int)id, error_reason(fd));
    target->pidfds[target->pidfd_count] = fd;
    int result = read_birth(id, fd, &target->births[target->pidfd_count], err);
    if (result < 0)
        close(fd);
    else
        target->pidfd_count++;
    return result;
}

static int add_process(struct target *target, pid_t pid, struct error *err)
{
    for (size_t i = 0; i < target->count; i++)
        if (target->pids[i] == pid)
            return 0;
    int fd = pid > 0 ? pidfd_open_process(pid) : -ESRCH;
    int result = process_check(pid, err);
    if (result < 0) {
        if (fd >= 0)
            close(fd);
        return result;
    }
    if (fd == -ESRCH)
        return error_set(err, fd, "no process %d", (int)pid);
    result = keep(target, "process", pid, fd, err);
    if (result == 0)
        target->pids[target->count++] = pid;
    return result;
}

int target_attach(struct target *target, const pid_t *pids, size_t count, struct error *err)
{
    target_init(target);
    int result = count ? make_room(target, count, false, err) : 0;
    for (size_t i = 0; result == 0 && i < count; i++)
        result = add_process(target, pids[i], err);
    if (result < 0)
        target_close(target);
    return result;
}

/* Adds the thread TID; its process, and the descriptor, stand at the same place. */
static int add_thread(struct target *target, pid_t tid, struct error *err)
{
    for (size_t i = 0; i < target->tid_count; i++)
        if (target->tids[i] == tid)
            return 0;
    pid_t pid = process_of_thread(tid);
    if (pid <= 0)
        return error_set(err, -ESRCH, "no thread %d", (int)tid);
    int result = process_check(pid, err);
    if (result < 0)
        return result;
    int fd = pidfd_open_thread(tid);
    if (fd == -EINVAL) /* before Linux 6.9 */
        fd = pidfd_open_process(pid);
    result = keep(target, "thread", tid, fd, err);
    if (result < 0)
        return result;
    target->tids[target->tid_count++] = tid;
    for (size_t i = 0; i < target->count; i++)
        if (target->pids[i] == pid)
            return 0;
    target->pids[target->count++] = pid;
    return 0;
}

int target_attach_threads(struct target *target, const pid_t *tids, size_t count, struct error *err)
{
    target_init(target);
    int result = make_room(target, count, true, err);
    for (size_t i = 0; result == 0 && i < count; i++)
        result = add_thread(target, tids[i], err);
    if (result < 0)
        target_close(target);
    return result;
}

int target_start(struct target *target, char *const argv[], struct error *err)
{
    target_init(target);
    int result = program_find(argv[0], &target->program, err);
    if (result < 0)
        return result;
    result = process_check_command(target->program, err);
    if (result == 0)
        result = make_room(target, 1, false, err);
    if (result == 0)
        result = command_fork(target->program, argv, &target->pids[0], &target->release_fd, err);
    target->command = result == 0;
    if (result == 0)
        result = keep(target, "process", target->pids[0], pidfd_open_process(target->pids[0]), err);
    if (result < 0)
        target_close(target);
    else
        target->count = 1;
    return result;
}

int target_set_apart(struct target *target, struct error *err)
{
    int result = command_set_apart(target->release_fd);
    return result < 0
               ? error_set(err, result, "cannot give %s a process group: %s", target->program, error_reason(result))
               : 0;
}

int target_release(struct target *target, struct error *err)
{
    if (target->release_fd < 0)
        return 0;
    int result = command_release(target->release_fd);
    close(target->release_fd);
    target->release_fd = -1;
    if (result == -ENOENT)
        /* The file itself was found: it is its interpreter that is missing. */
        return error_set(err, result, "%s: cannot be executed: its interpreter or loader does not exist",
                         target->program);
    if (result < 0)
        return error_set(err, result, "%s: cannot be executed: %s", target->program, error_reason(result));
    return 0;
}

/* Notes how the command has ended, STATUS as of waitpid(2). */
static void note_end(struct target *target, int status)
{
    target->ended_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    target->status = target->ended_by ? 128 + target->ended_by : WEXITSTATUS(status);
}

int target_release_held(struct target *target, bool must, struct error *err)
{
    if (target->release_fd < 0)
        return 0;
    /* Without that capability a setuid program would run without its rights: only where there is no other way. */
    int result = must || capability_ptrace() ? entry_seize(target->pids[0]) : -EPERM;
    bool seized = result == 0;
    if (seized || !must)
        result = target_release(target, err);
    else
        return error_set(err, result, "%s: cannot be held at its start, to find where it is mapped: ptrace: %s",
                         target->program, error_reason(result));
    if (result || !seized)
        return result;
    int status = 0;
    result = entry_run(target->pids[0], &status);
    target->held = result != -ECHILD;
    if (result == -ECHILD)
        note_end(target, status);
    else if (result && !must)
        return 0; /* until target_continue it stands somewhere before */
    else if (result)
        error_set(err, result, "%s: cannot be held at its start, to find where it is mapped: %s", target->program,
                  error_reason(result));
    return result == -ECHILD ? 0 : result;
}

void target_continue(struct target *target)
{
    if (target->held)
        entry_leave(target->pids[0]);
    target->held = false;
}

int target_pidfd(const struct target *target, size_t i)
{
    return i < target->pidfd_count ? target->pidfds[i] : -1;
}

int target_status(struct target *target)
{
    if (!target->command || target->status >= 0)
        return target->status;
    int status;
    siginfo_t info;
    do { /* where it is traced, that it has stopped is for who traces it */
        info.si_pid = 0;
    } while (waitid(P_PID, (id_t)target->pids[0], &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == EINTR);
    bool ended = info.si_pid && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED;
    if (ended && waitpid(target->pids[0], &status, WNOHANG) == target->pids[0])
        note_end(target, status);
    return target->status;
}

int target_ended_by(struct target *target)
{
    if (target->command)
        return target_status(target) < 0 ? 0 : target->ended_by;
    for (size_t i = 0; i < target->pidfd_count; i++) {
        int signal = pidfd_ended_by(target->pidfds[i]);
        if (signal > 0)
            return signal;
    }
    return 0;
}

void target_close(struct target *target)
{
    if (target->release_fd >= 0 || target->held) {
        /* Not under way, so it is still our child and its number is its own, unless it was reaped. */
        if (target->release_fd >= 0)
            close(target->release_fd);
        if (target->status < 0) {
            kill(target->pids[0], SIGKILL);
            while (waitpid(target->pids[0], NULL, 0) < 0 && errno == EINTR)
                continue;
        }
    }
    for (size_t i = 0; i < target->pidfd_count; i++)
        close(target->pidfds[i]);
    free(target->pids);
    free(target->tids);
    free(target->pidfds);
    free(target->births);
    free(target->program);
    target_init(target);
}
