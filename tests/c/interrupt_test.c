/* The two stages of a request to stop, in children, since the second ends the process. */
#include "sys/interrupt.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sys/events.h"
#include "tap.h"

static volatile sig_atomic_t busy_calls;

static void busy(void)
{
    busy_calls++;
}

/* signal handlers interrupt sleeps: this one goes on. */
static void pause_ms(long milliseconds)
{
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left) < 0)
        continue;
}

static int status_of(void (*scenario)(void))
{
    pid_t child = fork();
    if (child == 0) {
        struct error err;
        if (interrupt_open(busy, &err) < 0)
            _exit(99);
        scenario();
        _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void expect(int condition)
{
    if (!condition)
        _exit(98);
}

static void first(void)
{
    struct error err;
    int ready[4], events = events_open(&err);
    expect(events >= 0 && events_add(events, interrupt_fd(), false, &err) == 0);
    expect(interrupt_signal(NULL) == 0);
    expect(events_wait(events, 0, ready, 4) == 0);
    raise(SIGTERM);
    bool from_terminal = true;
    expect(interrupt_signal(&from_terminal) == SIGTERM && !from_terminal);
    expect(events_wait(events, 1000000000, ready, 4) == 1 && ready[0] == interrupt_fd());
    interrupt_take();
    expect(events_wait(events, 0, ready, 4) == 0);
    expect(interrupt_signal(NULL) == SIGTERM);
    pause_ms(2300);
    expect(busy_calls == 0);
}

static void second(void)
{
    raise(SIGINT);
    pause_ms(150);
    raise(SIGINT);
    _exit(97);
}

/* A report that computes is told of; what it computes is not waited for here. */
static void report(void)
{
    struct itimerval timer;
    char text[100] = "";
    int pipes[2];
    expect(pipe(pipes) == 0 && dup2(pipes[1], STDERR_FILENO) >= 0);
    interrupt_take();
    expect(getitimer(ITIMER_PROF, &timer) == 0 && !timer.it_value.tv_sec && !timer.it_value.tv_usec);
    raise(SIGINT);
    interrupt_take();
    expect(getitimer(ITIMER_PROF, &timer) == 0 && timer.it_value.tv_sec >= 2);
    raise(SIGPROF);
    expect(read(pipes[0], text, sizeof text - 1) > 0 && strstr(text, "Ctrl-C again ends at once"));
    interrupt_forget();
    expect(getitimer(ITIMER_PROF, &timer) == 0 && !timer.it_value.tv_sec && !timer.it_value.tv_usec);
}

static void second_after_taken(void)
{
    raise(SIGINT);
    interrupt_take();
    pause_ms(150);
    raise(SIGTERM);
    _exit(97);
}

static void twice_at_once(void)
{
    raise(SIGINT);
    raise(SIGINT);
}

static void forgotten(void)
{
    for (int i = 0; i < 23; i++) {
        raise(SIGINT);
        interrupt_forget();
        expect(interrupt_signal(NULL) == 0);
        pause_ms(5);
    }
    pause_ms(150);
    raise(SIGINT);
    expect(interrupt_signal(NULL) == SIGINT);
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Computes, until busy is called: behind two seconds of a CPU, or ten of a machine that has none for us. */
static void unanswered(void)
{
    raise(SIGINT);
    double began = seconds_of(CLOCK_MONOTONIC), used = 0, passed = 0;
    while (!busy_calls && used < 10 && passed < 40) {
        used = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        passed = seconds_of(CLOCK_MONOTONIC) - began;
    }
    expect(busy_calls == 1);
    expect(used >= 1.7 || passed >= 9.7);
    pause_ms(700);
    expect(busy_calls == 1);
}

static void unanswered_waiting(void)
{
    raise(SIGINT);
    pause_ms(8300);
    expect(busy_calls == 0);
    /* The ticks of a machine that stands still for longer than one come as one. */
    for (int looks = 0; looks < 3000 && !busy_calls; looks++)
        pause_ms(10);
    expect(busy_calls == 1);
}

static void unanswered_term(void)
{
    raise(SIGTERM);
    pause_ms(60000);
    _exit(97);
}

int main(void)
{
    is_int(status_of(first), 0, "a first signal wakes the loop, once");
    is_int(status_of(second), 128 + SIGINT, "the second ends the process");
    is_int(status_of(second_after_taken), 128 + SIGTERM, "also when the first was taken, and is another");
    is_int(status_of(report), 0, "after Ctrl-C a report that goes on computing is told of, with how to end it");
    int status = -1;
    for (int tries = 0; tries < 10 && status; tries++) /* a machine may stand still for so long between the two */
        status = status_of(twice_at_once);
    is_int(status, 0, "two within a tenth of a second are one");
    is_int(status_of(forgotten), 0, "after forget every signal is a first one");
    is_int(status_of(unanswered), 0, "busy is called once, after two seconds of computing");
    is_int(status_of(unanswered_waiting), 0, "… and after ten of waiting");
    is_int(status_of(unanswered_term), 128 + SIGTERM, "SIGTERM that nobody answers ends the process");

    signal(SIGINT, SIG_IGN);
    is_int(status_of(twice_at_once), 0, "an ignored signal stays ignored");
    return done_testing();
}
