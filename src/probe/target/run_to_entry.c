/* Lets a command run to the first instruction of its program. */
#include "probe/target/run_to_entry.h"

#if defined(__aarch64__)
#include <asm/ptrace.h>
#else
#include <sys/user.h>
#endif
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/perf.h"

int entry_seize(pid_t pid)
{
    return ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0 ? -errno : 0;
}

/*
 * Waits until PID stops with SIGTRAP, for EVENT (a PTRACE_EVENT_…, or 0: a signal); what else stops it meanwhile is let
 * through. 0, -ECHILD as entry_run, or -errno.
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

#if defined(__aarch64__)

enum { BREAK_OFF = 0, BREAK_AT_EL0 = 0xf << 5 | 2 << 1 | 1 }; /* DBGBCR_EL1: four bytes, user space, enabled */

static int set_breakpoint(pid_t pid, uint64_t address, uint32_t control)
{
    struct user_hwdebug_state state = {0};
    struct iovec registers = {&state, offsetof(struct user_hwdebug_state, dbg_regs[1])}; /* the first is enough */
    state.dbg_regs[0].addr = address;
    state.dbg_regs[0].ctrl = control;
    return ptrace(PTRACE_SETREGSET, pid, NT_ARM_HW_BREAK, &registers) < 0 ? -errno : 0;
}

/*
 * By ptrace's breakpoint: behind one of a perf event the kernel of this CPU makes a step over the instruction, which
 * PTRACE_DETACH breaks off. The next step, then one of a uprobe, is taken for the end of that one, and the thread runs
 * on behind the uprobe's copy of an instruction, into a SIGILL (arch/arm64/kernel/hw_breakpoint.c,
 * reinstall_suspended_bps).
 */
static int run_to(pid_t pid, uint64_t address, int *status)
{
    int result = set_breakpoint(pid, address, BREAK_AT_EL0);
    if (result == 0)
        result = ptrace(PTRACE_CONT, pid, 0, 0) < 0 ? -errno : wait_for(pid, 0, status);
    if (result == 0)
        result = set_breakpoint(pid, address, BREAK_OFF);
    return result;
}

#else

enum { INT3 = 0xcc };

/* Goes on until PID is at the breakpoint at ADDRESS: another SIGTRAP is the program's own. */
static int wait_at(pid_t pid, uint64_t address, struct user_regs_struct *registers, int *status)
{
    int signal = 0;
    do {
        if (ptrace(PTRACE_CONT, pid, 0, signal) < 0)
            return -errno;
        int result = wait_for(pid, 0, status);
        if (result)
            return result;
        if (ptrace(PTRACE_GETREGS, pid, 0, registers) < 0)
            return -errno;
        signal = SIGTRAP;
    } while (registers->rip != address && registers->rip != address + 1);
    return 0;
}

/*
 * By int3, as debuggers do: debug registers are four, and there are virtual machines where they never stop anybody. The
 * page is the process's own from then on, with the bytes of the file. Only where a uprobe stands at ADDRESS, whose trap
 * an int3 there would be, by a debug register.
 */
static int run_to(pid_t pid, uint64_t address, int *status)
{
    struct user_regs_struct registers;
    errno = 0;
    long word = ptrace(PTRACE_PEEKTEXT, pid, address, 0);
    if (errno)
        return -errno;
    if ((word & 0xff) == INT3) {
        int stop = perf_stop_at(pid, address);
        if (stop < 0)
            return stop;
        int result = wait_at(pid, address, &registers, status);
        close(stop);
        return result;
    }
    if (ptrace(PTRACE_POKETEXT, pid, address, (word & ~0xffL) | INT3) < 0)
        return -errno;
    int result = wait_at(pid, address, &registers, status);
    if (result == -ECHILD)
        return result;
    if (ptrace(PTRACE_POKETEXT, pid, address, word) < 0 && result == 0)
        result = -errno;
    registers.rip = address;
    if (result == 0 && ptrace(PTRACE_SETREGS, pid, 0, &registers) < 0)
        result = -errno;
    return result;
}

#endif

int entry_run(pid_t pid, int *status)
{
    int result = wait_for(pid, PTRACE_EVENT_EXEC, status);
    if (result)
        return result;
    uint64_t address = entry_of(pid);
    return address ? run_to(pid, address, status) : -ENODATA;
}

void entry_leave(pid_t pid)
{
    ptrace(PTRACE_DETACH, pid, 0, 0);
}
