/*
 * Processes that share memory, and some that have copies of it. The parent prints what it holds itself at its end.
 *
 *   spaces clone   a child in the same memory allocates blocks that the parent frees, and frees some of the parent's:
 *                  nothing is held
 *   spaces vfork   the same by vfork
 *   spaces before  the same by a child that is there when "ready" is printed; a byte begins it
 *   spaces fork    a child frees its copies of the parent's blocks; a second one allocates, at the same addresses as
 *                  the parent; a third one allocates and executes another program
 *   spaces spawn   allocates, and calls posix_spawn, whose child shares the memory until it executes a program, and
 *                  touches nothing
 */
#define _GNU_SOURCE
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noinline.h"

enum { BLOCKS = 101, COPIES = 503, BYTES = 3333, LATER = 307, LATER_BYTES = 1000, EXECUTED = 11 };

static void *volatile blocks[COPIES + LATER];
static void *volatile childs[LATER];

NOINLINE void allocate(void *volatile *to, unsigned count, size_t bytes)
{
    for (unsigned i = 0; i < count; i++)
        to[i] = malloc(bytes);
}

NOINLINE void release(void *volatile *from, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        free(from[i]);
}

NOINLINE int work_in_shared_memory(void *unused)
{
    (void)unused;
    allocate(childs, BLOCKS, 64);
    release(blocks, BLOCKS);
    return 0;
}

static void wait_byte(void)
{
    char byte;

    if (read(0, &byte, 1) < 0)
        _exit(1);
}

static int work_when_told(void *told)
{
    char byte;

    return read(*(int *)told, &byte, 1) == 1 ? work_in_shared_memory(NULL) : 1;
}

static void share_before(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    int told[2];
    pid_t child = pipe(told) == 0 ? clone(work_when_told, stack + sizeof stack, CLONE_VM | SIGCHLD, told) : -1;

    setvbuf(stdout, NULL, _IONBF, 0);
    printf("ready %d\n", (int)getpid());
    wait_byte();
    allocate(blocks, BLOCKS, 32);
    if (child < 0 || write(told[1], "x", 1) != 1)
        _exit(1);
    waitpid(child, NULL, 0);
    release(childs, BLOCKS);
    printf("done\n");
    wait_byte();
}

static void share(int with_vfork)
{
    static char stack[65536] __attribute__((aligned(16)));
    pid_t child;

    allocate(blocks, BLOCKS, 32);
    if (with_vfork) {
        child = vfork();
        if (child == 0) {
            work_in_shared_memory(NULL);
            _exit(0);
        }
    } else {
        child = clone(work_in_shared_memory, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
    }
    waitpid(child, NULL, 0);
    release(childs, BLOCKS);
}

static void copy(char *self)
{
    char *const words[] = {self, "none", NULL};

    allocate(blocks, COPIES, BYTES);
    if (fork() == 0) {
        release(blocks, COPIES);
        _exit(0);
    }
    wait(NULL);
    if (fork() == 0) {
        allocate(childs, LATER, LATER_BYTES);
        _exit(0);
    }
    wait(NULL);
    allocate(blocks + COPIES, LATER, LATER_BYTES);
    if (fork() == 0) {
        allocate(childs, EXECUTED, LATER_BYTES);
        execv(self, words);
        _exit(1);
    }
    wait(NULL);
}

static void spawn(char *self)
{
    char *const words[] = {self, "none", NULL};
    pid_t child;

    allocate(blocks, EXECUTED, LATER_BYTES);
    if (posix_spawn(&child, self, NULL, NULL, words, NULL) == 0)
        waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    char self[4096] = "";

    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return 1;
    if (!strcmp(mode, "clone") || !strcmp(mode, "vfork"))
        share(!strcmp(mode, "vfork"));
    else if (!strcmp(mode, "before"))
        share_before();
    else if (!strcmp(mode, "fork"))
        copy(self);
    else if (!strcmp(mode, "spawn"))
        spawn(self);
    _exit(0);
}
