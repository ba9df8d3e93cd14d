/* Processes that are held when they end. */
#include "sys/exit_hold.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/procstat.h"
#include "sys/realtime.h"
#include "sys/thread_stop.h"

#define WAKES (SIGRTMAX - 1) /* our thread, which does not wait for anything else */

struct exit_hold {
    pid_t pid;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done; /* our thread is to let go */
    enum exit_state state;
    struct thread_words words;
    uint64_t *kept;
    struct error err;
};

static void set_state(struct exit_hold *hold, enum exit_state state)
{
    pthread_mutex_lock(&hold->lock);
    hold->state = state;
    pthread_cond_broadcast(&hold->changed);
    pthread_mutex_unlock(&hold->lock);
}

static bool is_done(struct exit_hold *hold)
{
    pthread_mutex_lock(&hold->lock);
    bool done = hold->done;
    pthread_mutex_unlock(&hold->lock);
    return done;
}

static void keep_words(void *context, const struct thread_words *thread)
{
    struct exit_hold *hold = context;
    hold->kept = malloc(thread->count * sizeof *hold->kept);
    if (!hold->kept)
        return;
    memcpy(hold->kept, thread->words, thread->count * sizeof *hold->kept);
    hold->words = *thread;
    hold->words.words = hold->kept;
}

/* It has come to its end: it stands until it is to be let go. */
static void stand(struct exit_hold *hold)
{
    struct stopped_thread one = {.tid = hold->pid};
    struct stopped stopped = {.pid = hold->pid, .threads = &one, .count = 1};
    thread_stop_registers(&stopped, keep_words, hold);
    set_state(hold, hold->kept ? EXIT_HELD : EXIT_MISSED);
    pthread_mutex_lock(&hold->lock);
    while (!hold->done)
        pthread_cond_wait(&hold->changed, &hold->lock);
    pthread_mutex_unlock(&hold->lock);
}

/*
 * Waits until the process stops. False: it has ended, which is left for who waits for that, or it is to be let go.
 */
static bool wait_for_stop(struct exit_hold *hold, int *status)
{
    siginfo_t info = {0};
    while (waitid(P_PID, (id_t)hold->pid, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL) < 0)
        if (errno != EINTR || is_done(hold))
            return false;
    if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
        return false;
    return waitpid(hold->pid, status, __WALL | WNOHANG) == hold->pid;
}

/* Passes on what has stopped the process, as if it were not traced. */
static bool pass_on(pid_t pid, int status)
{
    int signal = WSTOPSIG(status), event = status >> 16;
    if (event == PTRACE_EVENT_STOP) /* with all of its threads, by a signal; or it goes on from that */
        return !ptrace(signal == SIGTRAP ? PTRACE_CONT : PTRACE_LISTEN, pid, NULL, NULL);
    return !ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)(event ? 0 : signal));
}

/* When this thread ends, the kernel lets the process go. */
static void trace(struct exit_hold *hold)
{
    int status;
    while (!is_done(hold) && wait_for_stop(hold, &status)) {
        if (status >> 16 == PTRACE_EVENT_EXIT) {
            stand(hold);
            return;
        }
        if (!pass_on(hold->pid, status) && errno != ESRCH)
            break;
    }
    set_state(hold, EXIT_MISSED);
}

/* Of include/linux/sched.h: it has been forked and has executed no program yet; it is about to end. */
enum { PF_FORKNOEXEC = 0x40, PF_EXITING = 4 };

/*
 * Traces the process once it executes its program, and nobody else traces it: while a command is started, that is
 * ourselves (probe/target/run_to_entry.h). It must not come to its end before that: so this thread gets a CPU at once,
 * if it may have that, until it traces. 0 or -errno.
 */
static int seize(struct exit_hold *hold)
{
    enum { TRIES = 100000, PAUSE = 50 }; /* us: some ten seconds */
    int64_t flags;
    int code = -EPERM;
    realtime_begin();
    for (int i = 0; i < TRIES && code == -EPERM && !is_done(hold); i++) {
        if (!procstat_field(hold->pid, PROCSTAT_FLAGS, &flags) || flags & PF_EXITING)
            code = -ESRCH;
        else if (!(flags & PF_FORKNOEXEC))
            code = ptrace(PTRACE_SEIZE, hold->pid, NULL, (void *)(uintptr_t)PTRACE_O_TRACEEXIT) < 0 ? -errno : 0;
        if (code == -EPERM)
            usleep(PAUSE);
    }
    realtime_end();
    return code;
}

static void *run(void *context)
{
    struct exit_hold *hold = context;
    int code = seize(hold);
    if (!code) {
        trace(hold);
        return NULL;
    }
    pthread_mutex_lock(&hold->lock);
    hold->state = EXIT_MISSED;
    error_set(&hold->err, code, "process %d cannot be held at its end: %s%s", (int)hold->pid, error_reason(code),
              code == -EPERM ? " (CAP_SYS_PTRACE is needed, and that nobody else traces it)" : "");
    pthread_mutex_unlock(&hold->lock);
    return NULL;
}

static void wake(int signal)
{
    (void)signal;
}

/* Starts our thread, which gets no signals but the one that wakes it. 0 or -errno. */
static int begin(struct exit_hold *hold)
{
    struct sigaction action = {.sa_handler = wake};
    sigset_t others, before;
    if (sigaction(WAKES, &action, NULL) < 0)
        return -errno;
    sigfillset(&others);
    sigdelset(&others, WAKES);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    int code = -pthread_create(&hold->thread, NULL, run, hold);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

struct exit_hold *exit_hold_new(pid_t pid)
{
    struct exit_hold *hold = calloc(1, sizeof *hold);
    if (!hold)
        return NULL;
    hold->pid = pid;
    pthread_mutex_init(&hold->lock, NULL);
    pthread_cond_init(&hold->changed, NULL);
    if (!begin(hold))
        return hold;
    pthread_mutex_destroy(&hold->lock);
    pthread_cond_destroy(&hold->changed);
    free(hold);
    return NULL;
}

/* The text is there once the process is missed. */
const char *exit_hold_error(struct exit_hold *hold)
{
    return exit_hold_state(hold) == EXIT_MISSED ? hold->err.text : "";
}

void exit_hold_free(struct exit_hold *hold)
{
    if (!hold)
        return;
    pthread_mutex_lock(&hold->lock);
    hold->done = true;
    pthread_cond_broadcast(&hold->changed);
    pthread_mutex_unlock(&hold->lock);
    while (pthread_tryjoin_np(hold->thread, NULL) == EBUSY) { /* a signal that comes before it waits wakes nobody */
        pthread_kill(hold->thread, WAKES);
        usleep(200);
    }
    pthread_mutex_destroy(&hold->lock);
    pthread_cond_destroy(&hold->changed);
    free(hold->kept);
    free(hold);
}

int exit_hold_state(struct exit_hold *hold)
{
    pthread_mutex_lock(&hold->lock);
    int state = hold->state;
    pthread_mutex_unlock(&hold->lock);
    return state;
}

const struct thread_words *exit_hold_words(const struct exit_hold *hold)
{
    return &hold->words;
}
