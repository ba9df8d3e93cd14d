/*
 * A process with descendants, which call functions a known, prime number of times. hit() makes one system call getppid.
 *
 *   family             23 children: each calls forked() once, before anything else, and executes `family child`; main
 *                      calls hit() 23 times
 *   family child       hit() 101 times, and so does a child of its own, which does not execute anything
 *   family hits        hit() 101 times
 *   family once        once() one time
 *   family early       has a child already when it prints "ready" and waits for a byte; then that child does what
 *                      `family child` does
 *   family stay        prints "ready", waits for a byte, does what `family` does, prints "done" and waits for the end
 *                      of its input
 *   family threads     4 threads are there when it prints "ready" and waits for a byte; then each calls hit() 101
 *                      times, and main prints "done"
 *   family thread      another thread starts the one child, by fork and without exec, which calls hit() 101 times
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noinline.h"

enum { CHILDREN = 23, HITS = 101, THREADS = 4 };

NOINLINE void hit(int n)
{
    __asm__ volatile("" : : "r"(n));
    syscall(SYS_getppid);
}

NOINLINE void forked(int n)
{
    __asm__ volatile("" : : "r"(n));
}

NOINLINE void once(int n)
{
    __asm__ volatile("" : : "r"(n));
}

static void hits(void)
{
    for (int i = 0; i < HITS; i++)
        hit(i);
}

static void wait_for_all(void)
{
    while (wait(NULL) > 0)
        continue;
}

static void child(void)
{
    if (fork() == 0) {
        hits();
        _exit(0);
    }
    hits();
    wait_for_all();
}

static void parent(char *program)
{
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0) {
            forked(i);
            execl("/proc/self/exe", program, "child", (char *)NULL);
            _exit(1);
        }
    for (int i = 0; i < CHILDREN; i++)
        hit(i);
    wait_for_all();
}

static void say(const char *word)
{
    puts(word);
    fflush(stdout);
}

static void early(void)
{
    int ends[2];
    char byte;
    if (pipe(ends) < 0)
        exit(1);
    if (fork() == 0) {
        if (read(ends[0], &byte, 1) == 1)
            child();
        _exit(0);
    }
    say("ready");
    if (read(0, &byte, 1) == 1 && write(ends[1], &byte, 1) == 1)
        wait_for_all();
    say("done");
    while (read(0, &byte, 1) > 0)
        continue;
}

static pthread_barrier_t start, there;

static void *thread(void *none)
{
    pthread_barrier_wait(&there);
    pthread_barrier_wait(&start);
    hits();
    return none;
}

static void threads(void)
{
    pthread_t all[THREADS];
    char byte;
    pthread_barrier_init(&there, NULL, THREADS + 1);
    pthread_barrier_init(&start, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&all[i], NULL, thread, NULL);
    pthread_barrier_wait(&there);
    say("ready");
    if (read(0, &byte, 1) < 0)
        exit(1);
    pthread_barrier_wait(&start);
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
    say("done");
    while (read(0, &byte, 1) > 0)
        continue;
}

static void *forking(void *none)
{
    if (fork() == 0) {
        hits();
        _exit(0);
    }
    wait_for_all();
    return none;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    char byte;
    if (!strcmp(word, "child")) {
        child();
    } else if (!strcmp(word, "hits")) {
        hits();
    } else if (!strcmp(word, "once")) {
        once(0);
    } else if (!strcmp(word, "early")) {
        early();
    } else if (!strcmp(word, "threads")) {
        threads();
    } else if (!strcmp(word, "thread")) {
        pthread_t id;
        pthread_create(&id, NULL, forking, NULL);
        pthread_join(id, NULL);
    } else if (!strcmp(word, "stay")) {
        say("ready");
        if (read(0, &byte, 1) == 1)
            parent(argv[0]);
        say("done");
        while (read(0, &byte, 1) > 0)
            continue;
    } else {
        parent(argv[0]);
    }
    return 0;
}
