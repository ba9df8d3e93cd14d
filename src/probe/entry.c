#include "probe/entry.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/perf.h"

int entry_seize(pid_t pid)
{
    return ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0 ? -errno : 0;
}

/*
 * Waits until PID stops with SIGTRAP, for EVENT (a PTRACE_EVENT_…, or 0: a signal); what else stops it meanwhile is let through. 0, -ECHILD as
 * entry_run, or -errno.
 */
static int wait_for(pid_t pid, int event, int *status)
{
    for (;;) {
        if (waitpid(pid, status, __WALL) < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        if (!WIFSTOPPED(*status))
            return -ECHILD;
        int signal = WSTOPSIG(*status), stopped_by = *status >> 16;
        if (signal == SIGTRAP && stopped_by == event)
            return 0;
        if (ptrace(PTRACE_CONT, pid, 0, stopped_by ? 0 : signal) < 0)
            return -errno;
    }
}

/* Where the program that PID has just executed begins; 0 if the kernel does not say. */
static uint64_t entry_of(pid_t pid)
{
    char path[64];
    Elf64_auxv_t vector;
    snprintf(path, sizeof path, "/proc/%d/auxv", (int)pid);
    FILE *in = fopen(path, "re");
    uint64_t address = 0;
    while (in && !address && fread(&vector, sizeof vector, 1, in) == 1)
        if (vector.a_type == AT_ENTRY)
            address = vector.a_un.a_val;
    if (in)
        fclose(in);
    return address;
}

int entry_run(pid_t pid, int *status)
{
    int result = wait_for(pid, PTRACE_EVENT_EXEC, status);
    if (result)
        return result;
    uint64_t address = entry_of(pid);
    int stop = address ? perf_stop_at(pid, address) : -ENODATA;
    if (stop < 0)
        return stop;
    result = ptrace(PTRACE_CONT, pid, 0, 0) < 0 ? -errno : wait_for(pid, 0, status);
    close(stop);
    return result;
}

void entry_leave(pid_t pid)
{
    ptrace(PTRACE_DETACH, pid, 0, 0);
}
