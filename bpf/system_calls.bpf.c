/*
 * Pairs the returns of system calls with their entries. A thread is in one call at a time, but for calls that signals
 * have interrupted: their exit has an error that no program sees (include/linux/errno.h, ERESTARTSYS …), and only then
 * does the kernel decide. Where a handler is called for the signal, signal_deliver tells of it: by the error and
 * SA_RESTART the call fails by EINTR, or is made again when the handler is over: rt_sigreturn finds where in the
 * signal's frame. Where none is called the thread makes it again at once, for ERESTART_RESTARTBLOCK as restart_syscall
 * (arch_do_signal_or_restart of x86, do_signal of arm64). All of that costs a call nothing that no signal interrupts.
 * The functions are global to the verifier, as in aggregate.bpf.c.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "arch.h"
#include "system_calls.h"

enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516, EINTR = 4 };
enum { SA_RESTART = 0x10000000 };
enum { SIG_IGN = 1 }; /* and SIG_DFL, 0: the program is not told */

/* The word at OFFSET of the registers with which the thread has entered the kernel. */
static __always_inline __u64 word_at(int offset)
{
    __u64 word = 0;
    const char *registers = (const char *)bpf_task_pt_regs(bpf_get_current_task_btf());
    bpf_probe_read_kernel(&word, sizeof word, registers + offset);
    return word;
}

/* How many calls there are: a value that the verifier takes for any, and at most SYSTEM_CALLS_DEEPEST. */
static __always_inline __u64 depth_of(const struct system_calls *calls)
{
    __u64 depth = *(const volatile __u64 *)&calls->depth;
    return depth < SYSTEM_CALLS_DEEPEST ? depth : SYSTEM_CALLS_DEEPEST;
}

/* PLACE is hidden from clang, which would leave the remainder out where it knows more than the verifier. */
static __always_inline struct system_call *call_at(struct system_calls *calls, __u64 place)
{
    __asm__ volatile("" : "+r"(place));
    return &calls->calls[place % SYSTEM_CALLS_DEEPEST];
}

static __always_inline long with_counts(long result, long ended, long left)
{
    return result | left << SYSTEM_CALL_PLACE_BITS | ended << (SYSTEM_CALL_PLACE_BITS + SYSTEM_CALL_LEFT_BITS);
}

/* How many of the calls from place FROM up to DEPTH are not passed by. */
static __always_inline long counted(struct system_calls *calls, __u64 from, __u64 depth)
{
    long count = 0;
    for (__u64 i = 0; i < SYSTEM_CALLS_DEEPEST; i++)
        count += i >= from && i < depth && !call_at(calls, i)->passed_by;
    return count;
}

static __always_inline int is_again(long number, const struct system_call *call)
{
    return (__u64)number == call->number || number == CALL_RESTART_SYSCALL;
}

/* A signal's handler ends: the innermost of the DEPTH calls to which it goes back will be made again. */
static __always_inline void resume(struct system_calls *calls, __u64 depth)
{
    __u64 sp = 0, ip = 0;
    const char *frame = (const char *)word_at(REGISTERS_STACK_POINTER);
    bpf_probe_read_user(&sp, sizeof sp, frame + FRAME_STACK_POINTER);
    bpf_probe_read_user(&ip, sizeof ip, frame + FRAME_INSTRUCTION);
    for (__u64 i = SYSTEM_CALLS_DEEPEST; i > 0; i--) {
        struct system_call *call = call_at(calls, i - 1);
        if (i <= depth && call->state == SYSTEM_CALL_SUSPENDED && sp == call->stack_pointer &&
            ip == call->ip - SYSTEM_CALL_SIZE) {
            call->state = SYSTEM_CALL_RESUMED;
            break;
        }
    }
}

/*
 * The thread of CALLS, of which DEPTH have been interrupted, enters the kernel by the call NUMBER: how deep the call
 * will be. Where it is one that goes on, calls->depth says so, and what is returned is SYSTEM_CALLS_DEEPEST + 1. The
 * bits above count as those of uplua_system_call_begin.
 */
static __always_inline long depth_at_entry(struct system_calls *calls, __u64 depth, long number)
{
    enum { GOES_ON = SYSTEM_CALLS_DEEPEST + 1 };
    long ended = 0, left;
    struct system_call *last = call_at(calls, depth - 1);
    if (last->state == SYSTEM_CALL_INTERRUPTED && is_again(number, last)) {
        last->state = SYSTEM_CALL_ON;
        return GOES_ON;
    }
    if (last->state == SYSTEM_CALL_INTERRUPTED || last->state == SYSTEM_CALL_ON) {
        depth--; /* its return came while that was not attached */
        ended += !last->passed_by;
    }
    if (number == CALL_RT_SIGRETURN) {
        resume(calls, depth);
        return with_counts((long)depth, ended, 0);
    }
    __u64 ip = word_at(REGISTERS_INSTRUCTION), sp = word_at(REGISTERS_STACK_POINTER), before = depth;
    long goes_on = 0;
    for (__u64 i = SYSTEM_CALLS_DEEPEST; i > 0; i--) {
        struct system_call *call = call_at(calls, i - 1);
        if (i > depth || ip != call->ip || sp != call->stack_pointer || !is_again(number, call))
            continue;
        if (call->state == SYSTEM_CALL_RESUMED) {
            depth = i;
            calls->depth = i;
            call->state = SYSTEM_CALL_ON;
            goes_on = 1;
            break;
        }
        depth = i - 1; /* a call from the same place, and its signal's handler has not ended: that has jumped out */
    }
    if (depth >= SYSTEM_CALLS_DEEPEST && !goes_on)
        depth = 0;
    left = counted(calls, depth, before);
    return with_counts(goes_on ? GOES_ON : (long)depth, ended + left, left);
}

/*
 * The thread of CALLS enters the kernel by the call NUMBER: the place of the call's values, SYSTEM_CALL_NONE where it
 * is none of WANTED or goes on. PASSED_BY: 1 where only its return is to be known for what it is.
 */
__noinline long uplua_system_call_begin(struct system_calls *calls, long number, long wanted, long passed_by)
{
    enum { PLACE = (1 << SYSTEM_CALL_PLACE_BITS) - 1 };
    if (!calls)
        return SYSTEM_CALL_NONE;
    __u64 depth = depth_of(calls);
    long counts = 0;
    calls->seen = 1;
    if (__builtin_expect(depth != 0, 0)) {
        counts = depth_at_entry(calls, depth, number);
        depth = counts & PLACE;
        counts &= ~(long)PLACE;
    }
    if (depth > SYSTEM_CALLS_DEEPEST)
        return counts | SYSTEM_CALL_NONE;
    calls->depth = depth;
    if (depth == SYSTEM_CALLS_DEEPEST || (wanted >= 0 && number != wanted) ||
        (wanted == SYSTEM_CALL_NAMED && number == CALL_RT_SIGRETURN))
        return counts | SYSTEM_CALL_NONE;
    struct system_call *call = call_at(calls, depth);
    call->state = SYSTEM_CALL_ON;
    call->number = number;
    call->passed_by = passed_by;
    calls->depth = depth + 1;
    return counts | (long)(depth % SYSTEM_CALLS_DEEPEST);
}

/* Whether RESULT says that a signal has interrupted a call. */
static __always_inline int is_interrupted(long result)
{
    return result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND ||
           result == -ERESTART_RESTARTBLOCK;
}

static __always_inline int is_exec(long number)
{
    return number == CALL_EXECVE || number == CALL_EXECVEAT;
}

/*
 * Whether the return that the kernel tells of with NUMBER is that of CALL: rt_sigreturn has put other registers there,
 * exec those of another program, and restart_syscall goes on with any.
 */
static __always_inline int is_of(long number, const struct system_call *call)
{
    return call->state == SYSTEM_CALL_ON
               ? number < 0 || (__u64)number == call->number || number == CALL_RESTART_SYSCALL || is_exec(call->number)
               : call->state == SYSTEM_CALL_INTERRUPTED && number == CALL_RESTART_SYSCALL; /* its entry was not asked */
}

/* A return of the call NUMBER that has not begun: seccomp has refused or answered it before the kernel tells of the
 * entry. */
static __always_inline long refused(struct system_calls *calls, long number, long result)
{
    __u64 depth = depth_of(calls);
    if (depth >= SYSTEM_CALLS_DEEPEST)
        return SYSTEM_CALL_UNSEEN;
    calls->place = depth;
    calls->number = (__u64)number;
    calls->result = result;
    return SYSTEM_CALL_REFUSED;
}

/* Whether a return of the call NUMBER without an entry tells nothing of what has come of it: a positive result that is
 * the call's own number is none, seccomp has sent SIGSYS (syscall_rollback), and so is a program that has just begun.
 */
static __always_inline int is_unknown(long number, long result)
{
    return number < 0 || (number && result == number) || (is_exec(number) && !result) || is_interrupted(result);
}

/* The innermost call, the one at depth - 1, has returned with RESULT: its place, where it is over. ATTEMPTS: each
 * attempt is. */
static __always_inline long end(struct system_calls *calls, struct system_call *call, __u64 depth, long result,
                                int is_interrupted)
{
    if (is_interrupted) {
        call->state = SYSTEM_CALL_INTERRUPTED;
        call->error = (__u64)-result;
        call->ip = word_at(REGISTERS_INSTRUCTION);
        call->stack_pointer = word_at(REGISTERS_STACK_POINTER);
        return SYSTEM_CALL_NONE;
    }
    calls->depth = depth - 1;
    if (call->passed_by)
        return SYSTEM_CALL_NONE;
    calls->place = depth - 1;
    calls->number = call->number;
    calls->result = result;
    return (long)((depth - 1) % SYSTEM_CALLS_DEEPEST);
}

/*
 * The thread of CALLS leaves a call, any of all, with RESULT and the registers at the address REGISTERS: the call's
 * place, where it is one of WANTED and over. SETTLED: not 0 where entries and returns are attached both.
 */
__noinline long uplua_system_call_end(struct system_calls *calls, long registers, long result, long wanted,
                                      long settled)
{
    if (!calls)
        return SYSTEM_CALL_NONE;
    int number = 0;
    bpf_probe_read_kernel(&number, sizeof number, (const char *)registers + REGISTERS_CALL);
    __u64 depth = depth_of(calls);
    if (depth) {
        struct system_call *last = call_at(calls, depth - 1);
        /* A handler's end has no number any more, and its result is what the program had in that register. */
        if (is_of(number, last))
            return end(calls, last, depth, result,
                       wanted != SYSTEM_CALL_ATTEMPTS && number >= 0 && is_interrupted(result));
    }
    if (!settled)
        return SYSTEM_CALL_NONE;
    /* The first is of a call that began before, or in another thread, which has made this one. */
    int seen = calls->seen != 0;
    calls->seen = 1;
    if (!seen || (wanted >= 0 && number != wanted))
        return SYSTEM_CALL_NONE;
    return is_unknown(number, result) ? SYSTEM_CALL_UNSEEN : refused(calls, number, result);
}

/* Whether the thread has a filter of seccomp, which may have refused a call. */
static __always_inline int has_filter(void)
{
    __u64 work = 0;
    const char *task = (const char *)bpf_get_current_task_btf();
    bpf_probe_read_kernel(&work, sizeof work, task + THREAD_WORK);
    return work >> THREAD_WORK_SECCOMP & 1;
}

/*
 * The thread of CALLS leaves the call NUMBER, the only one that is asked for or restart_syscall, with RESULT: the
 * call's place, where it is over. What the thread has done before is not known. SETTLED as above; COMMAND: the probe
 * was attached before its command began, and all that a thread does but exec and what comes before is the command's.
 */
__noinline long uplua_system_call_end_named(struct system_calls *calls, long number, long result, long settled,
                                            long command)
{
    if (!calls)
        return SYSTEM_CALL_NONE;
    __u64 depth = depth_of(calls);
    if (depth) {
        struct system_call *last = call_at(calls, depth - 1);
        if (is_of(number, last))
            return end(calls, last, depth, result, is_interrupted(result));
    }
    if (!settled || number == CALL_RESTART_SYSCALL)
        return SYSTEM_CALL_NONE;
    if (!result && IS_FORK(number))
        return SYSTEM_CALL_NONE; /* of the thread that was made */
    int seen = calls->seen != 0;
    calls->seen = 1;
    if (command && !seen && !is_exec(number)) {
        if (number == CALL_READ && result > 0)
            return SYSTEM_CALL_NONE; /* in which uplua has let the command's process wait */
        seen = 1;
    }
    if (!seen && (!has_filter() || (is_exec(number) && !result)))
        return SYSTEM_CALL_NONE; /* it began before */
    return !seen || is_unknown(number, result) ? SYSTEM_CALL_UNSEEN : refused(calls, number, result);
}

/* The kernel has taken a signal for the thread of CALLS, for which it calls HANDLER by FLAGS: the place of a call that
 * fails by it. */
__noinline long uplua_system_call_signal(struct system_calls *calls, unsigned long handler, unsigned long flags)
{
    if (!calls)
        return SYSTEM_CALL_NONE;
    __u64 depth = depth_of(calls);
    if (!depth || handler <= SIG_IGN)
        return SYSTEM_CALL_NONE;
    struct system_call *last = call_at(calls, depth - 1);
    if (last->state == SYSTEM_CALL_RESUMED)
        last->state = SYSTEM_CALL_SUSPENDED; /* another one's handler comes first */
    if (last->state != SYSTEM_CALL_INTERRUPTED)
        return SYSTEM_CALL_NONE;
    if (last->error == ERESTARTNOINTR || (last->error == ERESTARTSYS && (flags & SA_RESTART))) {
        last->state = SYSTEM_CALL_SUSPENDED;
        return SYSTEM_CALL_NONE;
    }
    return end(calls, last, depth, -EINTR, 0);
}
