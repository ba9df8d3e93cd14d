/* Calls vfork 23 times: vfork < do_vfork < outer < main. The child ends at once. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "noinline.h"

enum { CALLS = 23 };

static volatile long sink;

NOINLINE int do_vfork(void)
{
    int status;
    pid_t pid = vfork();
    if (!pid)
        _exit(0);
    waitpid(pid, &status, 0);
    sink += status;
    return pid;
}

NOINLINE void outer(void)
{
    for (int i = 0; i < CALLS; i++)
        do_vfork();
    sink++;
}

int main(void)
{
    outer();
    printf("%d calls\n", CALLS);
    return 0;
}
