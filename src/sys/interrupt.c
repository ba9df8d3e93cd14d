/* Signals that interrupt long work. */
#include "sys/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/*
 * timeout(1) signals its child and then the child's whole group, so that one request arrives twice within microseconds;
 * nobody presses Ctrl-C twice in a tenth of a second.
 */
static const int64_t same_request_ns = 100 * 1000 * 1000;

/*
 * Ticks of half a second since an unanswered signal. A callback that reports a million entries may well take that
 * long, and may finish. So may a callback that has not had two seconds of CPU time yet, because other processes leave
 * it none. One that has not had them within ten seconds waits for something. The hint and the end are counted from the
 * break, and come where it did not help.
 */
enum {
    TICK_US = 500 * 1000,
    TICKS_TO_BREAK = 4,
    TICKS_TO_BREAK_IDLE = 20,
    TICKS_TO_HINT = 2,
    TICKS_TO_END = 6,
    REPORT_SECONDS = 3
};
static const int64_t busy_ns = INT64_C(1800) * 1000 * 1000; /* nearly all of two seconds */

static struct {
    int fd;
    void (*busy)(void), (*at_once)(void);
    volatile sig_atomic_t signal, from_terminal, ticks, taken, broken;
    int64_t came_at, used_at; /* by the clock, of the CPU's time */
    int reload_fd;            /* -1: SIGHUP asks to stop */
    bool had_terminal;        /* when that began */
    int terminal;
    struct termios modes;
    const char *leave; /* what has the terminal show again what it showed before; NULL: nothing */
} interrupt = {.fd = -1, .reload_fd = -1, .terminal = -1};

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Of the report: how long it may compute until the hint. Zero: for ever. */
static void set_report_seconds(int seconds)
{
    struct itimerval timer = {{0, 0}, {seconds, 0}};
    setitimer(ITIMER_PROF, &timer, NULL);
}

static void set_ticks(int microseconds)
{
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static _Noreturn void end_at_once(int signal)
{
    if (interrupt.terminal >= 0)
        tcsetattr(interrupt.terminal, TCSANOW, &interrupt.modes);
    if (interrupt.leave && write(STDOUT_FILENO, interrupt.leave, strlen(interrupt.leave)) < 0)
        _exit(128 + signal); /* no terminal is there any more */
    _exit(128 + signal);
}

static void on_request(int signal, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    if (interrupt.signal) {
        /* What is still printed after a SIGPIPE meets the next, and says nothing new. */
        if (signal != SIGPIPE && now_ns(CLOCK_MONOTONIC) - interrupt.came_at > same_request_ns)
            end_at_once(signal);
    } else if (signal == SIGPIPE && interrupt.taken) {
        interrupt.signal = signal; /* in the report: all else that it does is done */
    } else {
        interrupt.came_at = now_ns(CLOCK_MONOTONIC);
        interrupt.used_at = now_ns(CLOCK_PROCESS_CPUTIME_ID);
        interrupt.signal = signal;
        interrupt.from_terminal = info->si_code == SI_KERNEL;
        interrupt.ticks = interrupt.broken = 0;
        set_ticks(TICK_US);
        uint64_t one = 1;
        if (write(interrupt.fd, &one, sizeof one) < 0)
            end_at_once(signal); /* cannot happen; but then nobody would ever hear of it */
        if (interrupt.at_once)
            interrupt.at_once();
    }
    errno = saved;
}

static const char hint[] = "uplua: still busy; Ctrl-C again ends at once\n";

static void on_report(int signal)
{
    (void)signal;
    int saved = errno;
    if (interrupt.taken && interrupt.signal == SIGINT && write(STDERR_FILENO, hint, sizeof hint - 1) < 0)
        set_report_seconds(0);
    errno = saved;
}

static void on_tick(int signal)
{
    (void)signal;
    if (!interrupt.signal)
        return; /* somebody else's SIGALRM */
    int saved = errno;
    int ticks = ++interrupt.ticks;
    bool busy = ticks >= TICKS_TO_BREAK && now_ns(CLOCK_PROCESS_CPUTIME_ID) - interrupt.used_at >= busy_ns;
    if ((busy || ticks >= TICKS_TO_BREAK_IDLE) && !interrupt.broken && interrupt.busy) {
        interrupt.broken = ticks;
        interrupt.busy();
    }
    if (interrupt.broken && ticks == interrupt.broken + TICKS_TO_HINT && interrupt.signal == SIGINT &&
        write(STDERR_FILENO, hint, sizeof hint - 1) < 0)
        set_ticks(0);
    /* Whoever sends SIGTERM may send it only once. */
    if (interrupt.broken && ticks == interrupt.broken + TICKS_TO_END && interrupt.signal != SIGINT)
        end_at_once(interrupt.signal);
    errno = saved;
}

static int handle(int signal, struct error *err)
{
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_flags = SA_RESTART | SA_SIGINFO; /* libelf and libbpf do not expect EINTR */
    action.sa_sigaction = on_request;
    if (sigaction(signal, NULL, &before) == 0 && before.sa_handler == SIG_IGN && signal != SIGPIPE)
        return 0;
    if (sigaction(signal, &action, NULL) < 0)
        return error_set(err, -errno, "cannot handle signal %d: %s", signal, error_reason(errno));
    return 0;
}

int interrupt_open(void (*busy)(void), struct error *err)
{
    interrupt.busy = busy;
    interrupt.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (interrupt.fd < 0)
        return error_set(err, -errno, "cannot make an eventfd: %s", error_reason(errno));

    struct sigaction tick;
    memset(&tick, 0, sizeof tick);
    tick.sa_flags = SA_RESTART;
    tick.sa_handler = on_tick;
    sigaction(SIGALRM, &tick, NULL);
    tick.sa_handler = on_report;
    sigaction(SIGPROF, &tick, NULL);

    static const int requests[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (unsigned i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        int result = handle(requests[i], err);
        if (result < 0)
            return result;
    }
    return 0;
}

/* Whether the process has a terminal that it is controlled by. May be called by a signal handler. */
static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void on_hangup(int signal, siginfo_t *info, void *context)
{
    int saved = errno;
    uint64_t one = 1;
    if (info->si_code == SI_KERNEL || (interrupt.had_terminal && !has_terminal()) ||
        write(interrupt.reload_fd, &one, sizeof one) < 0)
        on_request(signal, info, context);
    errno = saved;
}

int interrupt_reload_by_hangup(struct error *err)
{
    if (interrupt.reload_fd >= 0)
        return interrupt.reload_fd;
    interrupt.had_terminal = has_terminal();
    interrupt.reload_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (interrupt.reload_fd < 0)
        return error_set(err, -errno, "cannot make an eventfd: %s", error_reason(errno));
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    action.sa_sigaction = on_hangup;
    if (sigaction(SIGHUP, &action, NULL) < 0)
        return error_set(err, -errno, "cannot handle signal %d: %s", SIGHUP, error_reason(errno));
    return interrupt.reload_fd;
}

void interrupt_take_reload(void)
{
    uint64_t count;
    if (read(interrupt.reload_fd, &count, sizeof count) < 0)
        return; /* EAGAIN: taken before */
}

void interrupt_at_once(void (*fn)(void))
{
    interrupt.at_once = fn;
}

int64_t interrupt_age(void)
{
    return now_ns(CLOCK_MONOTONIC) - interrupt.came_at;
}

int interrupt_fd(void)
{
    return interrupt.fd;
}

int interrupt_signal(bool *from_terminal)
{
    if (from_terminal)
        *from_terminal = interrupt.from_terminal;
    return interrupt.signal;
}

void interrupt_take(void)
{
    set_ticks(0);
    interrupt.taken = 1;
    set_report_seconds(interrupt.signal == SIGINT ? REPORT_SECONDS : 0);
    uint64_t count;
    if (read(interrupt.fd, &count, sizeof count) < 0)
        return; /* EAGAIN: taken before */
}

void interrupt_forget(void)
{
    interrupt_take();
    set_report_seconds(0);
    interrupt.signal = interrupt.taken = 0;
}

void interrupt_keep_terminal(int fd, const char *leave)
{
    if (tcgetattr(fd, &interrupt.modes) != 0)
        return;
    interrupt.terminal = fd;
    interrupt.leave = leave;
}
