/* src/sys/thread_stop.c: a process that is stopped goes on whatever happens to who has stopped it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sys/procstat.h"
#include "sys/thread_stop.h"
#include "tap.h"

enum { THREADS = 3, KILLS = 100, SECOND = 1000000000 };

static struct shared {
    volatile uint64_t counts[THREADS + 1];
    volatile int phase;                       /* of who stops: how far it has come */
    volatile int in_vfork, release, returned; /* of a program that is in a call that nothing interrupts */
} * shared;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static void *count(void *place)
{
    for (;;) {
        ++*(volatile uint64_t *)place;
        usleep(20);
    }
    return NULL;
}

static pid_t start_program(void)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, count, (void *)&shared->counts[i]);
    }
    count((void *)&shared->counts[THREADS]);
    _exit(1);
}

/* True once each thread has counted on. */
static bool goes_on(void)
{
    uint64_t before[THREADS + 1];
    memcpy(before, (void *)shared->counts, sizeof before);
    for (int tries = 0; tries < 10000; tries++) {
        int moved = 0;
        for (int i = 0; i <= THREADS; i++)
            moved += shared->counts[i] != before[i];
        if (moved == THREADS + 1)
            return true;
        usleep(1000);
    }
    return false;
}

static void note_registers(void *context, const struct thread_words *thread)
{
    int *good = context;
    *good += thread->stack_pointer && thread->thread_pointer && thread->count > 17;
}

/* All threads stand still, their registers are there, and they go on. */
static void test_stop(pid_t pid)
{
    struct stopped stopped;
    struct error err = {0};
    int code = thread_stop_all(pid, now() + 20ull * SECOND, &stopped, &err);
    ok(code == 0, "stopped: %s", err.text);
    uint64_t before[THREADS + 1];
    memcpy(before, (void *)shared->counts, sizeof before);
    usleep(20000);
    ok(!memcmp(before, (void *)shared->counts, sizeof before), "nobody counts");
    int good = 0;
    ok(thread_stop_registers(&stopped, note_registers, &good) == 0, "registers are read");
    is_int(good, THREADS + 1, "of all threads");
    thread_let_go(&stopped);
    ok(goes_on(), "all go on");
}

static void stop_again_and_again(pid_t pid)
{
    for (;;) {
        struct stopped stopped;
        int good = 0;
        shared->phase = 1;
        if (!thread_stop_all(pid, now() + 20ull * SECOND, &stopped, NULL)) {
            shared->phase = 2;
            thread_stop_registers(&stopped, note_registers, &good);
            usleep(100);
        }
        shared->phase = 3;
        thread_let_go(&stopped);
    }
}

/* Whoever stops it is killed, in each phase. */
static void test_kills(pid_t pid)
{
    int alive = 0, phases[4] = {0};
    for (int i = 0; i < KILLS; i++) {
        shared->phase = 0;
        pid_t tracer = fork();
        if (!tracer)
            stop_again_and_again(pid);
        int wanted = 1 + i % 3;
        while (shared->phase != wanted)
            continue;
        phases[wanted]++;
        usleep((useconds_t)(i * 7 % 60));
        kill(tracer, SIGKILL);
        waitpid(tracer, NULL, 0);
        alive += goes_on();
    }
    ok(alive == KILLS, "it went on after %d of %d kills", alive, KILLS);
    ok(phases[1] == 34 && phases[2] == 33 && phases[3] == 33, "in each phase");
}

/* Signals that come meanwhile are not lost. */
static void test_signals(void)
{
    pid_t pid = start_program();
    ok(goes_on(), "another program runs");
    struct stopped stopped;
    ok(thread_stop_all(pid, now() + 20ull * SECOND, &stopped, NULL) == 0, "stopped");
    kill(pid, SIGTERM);
    thread_let_go(&stopped);
    int status = 0;
    waitpid(pid, &status, 0);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "a signal to a stopped process arrives");
}

static void test_errors(pid_t pid)
{
    struct stopped stopped;
    struct error err = {0};
    int code = 0;
    /* Where this thread has to wait for a CPU, they have stopped before it looks at the clock. */
    for (int tries = 0; tries < 1000 && !(code = thread_stop_all(pid, 0, &stopped, &err)); tries++)
        thread_let_go(&stopped);
    ok(code == -ETIMEDOUT && strstr(err.text, "did not stop in time"), "no time: %s", err.text);
    ok(goes_on(), "and goes on");
    pid_t tracer = fork();
    if (!tracer) {
        thread_stop_all(pid, now() + 20ull * SECOND, &stopped, NULL);
        shared->phase = 4;
        for (;;)
            pause();
    }
    while (shared->phase != 4)
        usleep(100);
    char expected[64];
    snprintf(expected, sizeof expected, "process %d traces it", (int)tracer);
    ok(thread_stop_all(pid, now() + SECOND, &stopped, &err) == -EPERM && strstr(err.text, expected), "traced: %s",
       err.text);
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    ok(goes_on(), "and goes on, too");
}

/* Has the vfork of the process *PID return, a second after it is traced. */
static void *release_later(void *pid)
{
    while (!procstat_tracer(*(pid_t *)pid))
        usleep(1000);
    sleep(1);
    shared->release = 1;
    return NULL;
}

/* A thread that cannot stop for a while does not stand still later on. */
static void test_uninterruptible(void)
{
    pid_t pid = fork();
    if (!pid) {
        pid_t child = vfork();
        if (!child) {
            shared->in_vfork = 1;
            while (!shared->release)
                usleep(1000);
            _exit(0);
        }
        shared->returned = 1;
        for (;;)
            pause();
    }
    while (!shared->in_vfork)
        usleep(1000);
    pthread_t thread;
    pthread_create(&thread, NULL, release_later, &pid);
    struct stopped stopped;
    ok(thread_stop_all(pid, 0, &stopped, NULL) == -ETIMEDOUT, "a thread in vfork does not stop");
    ok(shared->release && !procstat_tracer(pid), "it is let go when that has returned");
    pthread_join(thread, NULL);
    for (int tries = 0; !shared->returned && tries < 10000; tries++)
        usleep(1000);
    ok(shared->returned, "and goes on");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

int main(void)
{
    alarm(100); /* for waits that are in vain */
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = start_program();
    ok(goes_on(), "the program runs");
    test_stop(pid);
    test_kills(pid);
    test_errors(pid);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    struct stopped stopped;
    ok(thread_stop_all(pid, now() + SECOND, &stopped, NULL) == -ESRCH, "no process: -ESRCH");
    test_signals();
    test_uninterruptible();
    return done_testing();
}
