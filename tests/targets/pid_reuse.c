/*
 * A number that is given away again while whoever had it is traced.
 *
 *   pid_reuse processes   has two children; the first ends, and a stranger gets its number
 *   pid_reuse threads     the same with threads
 *   pid_reuse outside     a child's child calls hit() once and ends, and 23 times another process gets its number at
 * once: the main process's next child, which does the same. It prints "ready" and the first child's number, waits for a
 * byte and prints "done" pid_reuse             says why it cannot do either, if it cannot
 *
 * It prints "ready", the two numbers and its own, and waits for a byte. Then the first of the two calls hit() 23 times,
 * sleeps each time, and ends; 0.2 s later the stranger does the same 101 times; "done" is printed, and the end of the
 * input waited for. hit() makes one system call getppid.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noinline.h"

enum { HITS = 23, STRANGERS_HITS = 101, ATTEMPTS = 10000 };

static const char last_number[] = "/proc/sys/kernel/ns_last_pid";
static bool processes;
static pid_t wanted; /* by the stranger */
static int byte_for_first[2], end_for_second[2];
static int first_number[2];

NOINLINE void hit(int n)
{
    __asm__ volatile("" : : "r"(n));
    syscall(SYS_getppid);
}

static void work(int times)
{
    for (int i = 0; i < times; i++) {
        hit(i);
        usleep(100);
    }
}

static void tell_number(void)
{
    pid_t number = (pid_t)syscall(SYS_gettid);
    if (write(first_number[1], &number, sizeof number) < 0)
        exit(1);
}

static void *first(void *none)
{
    char byte;
    prctl(PR_SET_NAME, "first");
    tell_number();
    if (read(byte_for_first[0], &byte, 1) < 0)
        exit(1);
    work(HITS);
    return none;
}

static void *second(void *none)
{
    char byte;
    tell_number();
    if (processes)
        close(end_for_second[1]);
    if (read(end_for_second[0], &byte, 1) < 0)
        exit(1);
    return none;
}

static void *stranger(void *got)
{
    *(bool *)got = syscall(SYS_gettid) == wanted;
    if (!*(bool *)got)
        return NULL;
    prctl(PR_SET_NAME, "stranger");
    work(STRANGERS_HITS);
    return NULL;
}

struct running {
    pid_t process;
    pthread_t thread;
};

static struct running start(void *(*run)(void *), void *context)
{
    struct running running = {0};
    if (!processes) {
        pthread_create(&running.thread, NULL, run, context);
    } else if (!(running.process = fork())) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* the pipes' ends are in each other's hands */
        run(context);
        _exit(context ? !*(bool *)context : 0);
    }
    return running;
}

/* False if a process said so. */
static bool finish(struct running running)
{
    int status = 0;
    if (!processes)
        pthread_join(running.thread, NULL);
    else
        waitpid(running.process, &status, 0);
    return status == 0;
}

/* Everybody starts processes: until the number has come to ours. */
static void start_stranger(void)
{
    char text[16];
    bool got = false;
    int length = snprintf(text, sizeof text, "%d", (int)wanted - 1);
    for (int i = 0; i < ATTEMPTS && !got; i++) {
        int file = open(last_number, O_WRONLY | O_CLOEXEC);
        if (file < 0 || write(file, text, (size_t)length) != length)
            exit(1);
        close(file);
        bool same = false;
        bool said = finish(start(stranger, &same));
        got = processes ? said : same;
    }
    if (!got)
        exit(1);
}

/* Takes the number of each child that the first child has, and had. */
static int take_numbers(void)
{
    int order[2], took[2];
    char byte = 0;
    if (pipe(order) || pipe(took))
        return 1;
    pid_t first_child = fork();
    if (!first_child) {
        close(order[1]);
        while (read(order[0], &byte, 1) == 1) {
            pid_t child = fork();
            if (!child) {
                hit(0);
                _exit(0);
            }
            if (waitpid(child, NULL, 0) != child || write(took[1], &child, sizeof child) != sizeof child)
                _exit(1);
        }
        _exit(0);
    }
    printf("ready %d\n", (int)first_child);
    fflush(stdout);
    if (read(0, &byte, 1) != 1)
        return 1;
    int taken = 0, attempts = 0;
    while (attempts < ATTEMPTS && taken < HITS) {
        if (write(order[1], &byte, 1) != 1 || read(took[0], &wanted, sizeof wanted) != sizeof wanted)
            return 1;
        int file = open(last_number, O_WRONLY | O_CLOEXEC);
        if (file < 0 || dprintf(file, "%d", (int)wanted - 1) < 0)
            return 1;
        close(file);
        pid_t child = fork();
        if (!child) {
            hit(0);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        taken += child == wanted;
        attempts++;
    }
    printf("done %d\n", attempts);
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        continue;
    close(order[1]);
    waitpid(first_child, NULL, 0);
    return taken < HITS;
}

static pid_t number(void)
{
    pid_t number = 0;
    if (read(first_number[0], &number, sizeof number) != sizeof number)
        exit(1);
    return number;
}

int main(int argc, char **argv)
{
    char byte;
    processes = argc > 1 && !strcmp(argv[1], "processes");
    if (access(last_number, W_OK))
        printf("cannot write %s: %s\n", last_number, strerror(errno));
    if (argc < 2)
        return 0;
    if (!strcmp(argv[1], "outside"))
        return take_numbers();
    if (pipe(byte_for_first) || pipe(end_for_second) || pipe(first_number))
        return 1;
    struct running one = start(first, NULL);
    wanted = number();
    struct running other = start(second, NULL);
    printf("ready %d %d %d\n", (int)wanted, (int)number(), (int)getpid());
    fflush(stdout);
    if (read(0, &byte, 1) != 1 || write(byte_for_first[1], &byte, 1) != 1)
        return 1;
    finish(one);
    usleep(200000);
    start_stranger();
    puts("done");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        continue;
    close(end_for_second[1]);
    finish(other);
    return 0;
}
