/*
 * Threads stopped by PTRACE_SEIZE and PTRACE_INTERRUPT (ptrace(2)): no signal is sent, and when the tracer ends in
 * whatever way, the kernel detaches it from them and they go on.
 */
#include "sys/thread_stop.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "sys/clock.h"
#include "sys/procstat.h"

#define NT_ARM_TLS_SET 0x401 /* NT_ARM_TLS of elf.h */

enum { VECTOR_BYTES = 16 << 10 }; /* more than XSAVE's area has without AMX's tiles, which hold no pointers */

#define PATIENCE 60000000000ull /* ns for which a thread is waited for that is to be let go */
enum { LONGEST_PAUSE = 10000 }; /* us between two looks at it */

/* --- one thread --- */

/* Seizes TID and asks it to stop. 0, -ESRCH: it has ended; -errno. */
static int seize(struct stopped *stopped, pid_t tid)
{
    if (!array_room(&stopped->threads, stopped->count, &stopped->capacity, sizeof *stopped->threads))
        return -ENOMEM;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
        return -errno;
    stopped->threads[stopped->count++] = (struct stopped_thread){.tid = tid, .stops = true};
    return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 ? -errno : 0;
}

/*
 * Looks whether the thread has stopped or ended: true if there is nothing more to wait for. How our own child has ended
 * is left for who waits for that; any other thread is a zombie until its tracer has asked.
 */
static bool has_stopped(const struct stopped *stopped, struct stopped_thread *thread)
{
    siginfo_t info = {0};
    int status = 0;
    if (waitid(P_PID, (id_t)thread->tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0) {
        thread->stops = errno == EINTR;
        if (!thread->stops)
            thread->tid = 0;
    } else if (info.si_pid && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
        int64_t parent;
        bool ours =
            thread->tid == stopped->pid && procstat_field(stopped->pid, PROCSTAT_PARENT, &parent) && parent == getpid();
        if (!ours)
            waitpid(thread->tid, &status, __WALL | WNOHANG);
        thread->tid = 0;
        thread->stops = false;
    } else if (info.si_pid && waitpid(thread->tid, &status, __WALL | WNOHANG) == thread->tid) {
        thread->stops = false;
        /* An event of ptrace's own has a number above the signal; a signal is for the thread. */
        thread->signal = status >> 16 ? 0 : WSTOPSIG(status);
    }
    return !thread->stops;
}

/* --- all of them --- */

static bool has(const struct stopped *stopped, pid_t tid)
{
    for (size_t i = 0; i < stopped->count; i++)
        if (stopped->threads[i].tid == tid)
            return true;
    return false;
}

/* Seizes the threads of PID that are not yet; how many these were, or -errno. */
static int seize_new(struct stopped *stopped)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", (int)stopped->pid);
    DIR *folder = opendir(path);
    if (!folder)
        return errno == ENOENT ? -ESRCH : -errno;
    int added = 0, code = 0;
    for (struct dirent *entry; !code && (entry = readdir(folder));) {
        pid_t tid = (pid_t)atoi(entry->d_name);
        if (tid <= 0 || has(stopped, tid))
            continue;
        code = seize(stopped, tid);
        added += !code;
        code = code == -ESRCH ? 0 : code;
    }
    closedir(folder);
    return code ? code : added;
}

/* 0, or -ETIMEDOUT. */
static int wait_for_all(struct stopped *stopped, uint64_t deadline)
{
    for (size_t i = 0, tries = 0; i < stopped->count;) {
        struct stopped_thread *thread = &stopped->threads[i];
        if (!thread->stops || has_stopped(stopped, thread)) {
            i++;
            continue;
        }
        if (clock_now() > deadline)
            return -ETIMEDOUT;
        if (tries++ < 20)
            sched_yield();
        else
            usleep(50);
    }
    return 0;
}

/* Says in ERR why process PID could not be stopped; returns CODE. */
static int refuse(struct error *err, pid_t pid, int code)
{
    pid_t tracer = procstat_tracer(pid);
    if (code == -EPERM && tracer && tracer != getpid())
        return error_set(err, code, "process %d cannot be stopped: process %d traces it", (int)pid, (int)tracer);
    if (code == -ETIMEDOUT)
        return error_set(err, code, "process %d cannot be stopped: one of its threads did not stop in time", (int)pid);
    return error_set(err, code, "process %d cannot be stopped: %s%s", (int)pid, error_reason(code),
                     code == -EPERM ? " (CAP_SYS_PTRACE is needed)" : "");
}

int thread_stop_all(pid_t pid, uint64_t deadline, struct stopped *stopped, struct error *err)
{
    *stopped = (struct stopped){.pid = pid};
    int added, code = 0;
    do { /* threads that still run may create others */
        added = seize_new(stopped);
        code = added < 0 ? added : wait_for_all(stopped, deadline);
    } while (!code && added);
    size_t left = 0;
    for (size_t i = 0; i < stopped->count; i++)
        left += stopped->threads[i].tid != 0;
    if (!code && !left)
        code = -ESRCH;
    if (!code)
        return 0;
    thread_let_go(stopped);
    return refuse(err, pid, code);
}

int thread_stop(pid_t pid, pid_t tid, uint64_t deadline, struct stopped *stopped, struct error *err)
{
    *stopped = (struct stopped){.pid = pid};
    int code = seize(stopped, tid);
    if (!code)
        code = wait_for_all(stopped, deadline);
    if (!code && !stopped->threads[0].tid)
        code = -ESRCH;
    if (!code)
        return 0;
    thread_let_go(stopped);
    return refuse(err, pid, code);
}

/*
 * A thread can be let go only where it has stopped. It does within microseconds, unless it waits for a CPU, or is in
 * the middle of a call of the kernel that nothing interrupts, such as vfork: it is waited for, since it would stand
 * still from its stop on until we end. One that has been killed meanwhile ends, and its tracer has to be told of that.
 */
static void let_go(const struct stopped *stopped, struct stopped_thread *thread)
{
    uint64_t last = clock_now() + PATIENCE;
    for (useconds_t pause = 100; thread->tid && clock_now() < last; pause += pause < LONGEST_PAUSE ? 100 : 0) {
        bool known = !thread->stops || has_stopped(stopped, thread);
        if (known && (!thread->tid || !ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal)))
            return;
        thread->stops = true;
        usleep(pause);
    }
}

void thread_let_go(struct stopped *stopped)
{
    /* First those that have stopped. The first thread, of which nothing is told before the others have ended, is last.
     */
    for (size_t i = stopped->count; i--;)
        if (!stopped->threads[i].stops)
            let_go(stopped, &stopped->threads[i]);
    for (size_t i = stopped->count; i--;)
        if (stopped->threads[i].stops)
            let_go(stopped, &stopped->threads[i]);
    free(stopped->threads);
    *stopped = (struct stopped){.pid = stopped->pid};
}

/* --- registers --- */

/* Reads a register set into BUFFER; its bytes, 0 where the CPU has none of the kind. */
static size_t read_set(pid_t tid, uintptr_t kind, void *buffer, size_t size)
{
    struct iovec iov = {buffer, size};
    return ptrace(PTRACE_GETREGSET, tid, (void *)kind, &iov) < 0 ? 0 : iov.iov_len;
}

static void fill_pointers(pid_t tid, const struct user_regs_struct *registers, struct thread_words *thread)
{
#ifdef __x86_64__
    (void)tid;
    thread->stack_pointer = registers->rsp;
    thread->thread_pointer = registers->fs_base;
#else
    thread->stack_pointer = registers->sp;
    read_set(tid, NT_ARM_TLS_SET, &thread->thread_pointer, sizeof thread->thread_pointer);
#endif
}

int thread_stop_registers(const struct stopped *stopped,
                          void (*visit)(void *context, const struct thread_words *thread), void *context)
{
    enum { PLAIN = sizeof(struct user_regs_struct) };
    uint8_t *bytes = calloc(1, PLAIN + VECTOR_BYTES);
    int code = bytes ? 0 : -ENOMEM;
    for (size_t i = 0; !code && i < stopped->count; i++) {
        pid_t tid = stopped->threads[i].tid;
        if (!tid)
            continue;
        if (!read_set(tid, NT_PRSTATUS, bytes, PLAIN)) {
            code = errno == ESRCH ? 0 : -errno;
            continue;
        }
        struct thread_words thread = {.tid = tid, .words = (const uint64_t *)bytes};
        fill_pointers(tid, (const struct user_regs_struct *)bytes, &thread);
        size_t vectors = 0;
#ifdef __x86_64__
        vectors = read_set(tid, NT_X86_XSTATE, bytes + PLAIN, VECTOR_BYTES);
#endif
        if (!vectors)
            vectors = read_set(tid, NT_PRFPREG, bytes + PLAIN, VECTOR_BYTES);
        thread.count = (PLAIN + vectors) / sizeof *thread.words;
        visit(context, &thread);
    }
    free(bytes);
    return code;
}
