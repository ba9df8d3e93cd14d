/*
 * Which entry a return belongs to. Calls nest, so what a return ends is the innermost call; but some never return: longjmp and exceptions leave
 * several at once. Those lie below the stack pointer of what happens next in their thread, as the kernel tells them, too (arch_uretprobe_is_alive).
 * The functions are global to the verifier, as in aggregate.bpf.c.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "arch.h"
#include "calls.h"

/* A value that the verifier takes for any: so it need not follow each number of calls by itself. */
static __always_inline __u64 count_of(const struct calls *calls)
{
    return *(const volatile __u64 *)&calls->count;
}

/*
 * True if the call that begins at SP takes the place of another one: it was jumped to at that one's end, and returns for both. LINK: the
 * return address, where a register has it.
 */
static __always_inline int is_tail_call(__u64 link, __u64 sp)
{
    __u64 back = link;
    if (RETURN_ADDRESS_ON_STACK && bpf_probe_read_user(&back, sizeof back, (const void *)sp))
        return 0;
    return IS_TRAMPOLINE(back);
}

/* Forgets the innermost calls that began at or, unless AT says so, below SP. Returns how many. */
static __always_inline long forget(struct calls *calls, __u64 sp, int at)
{
    long forgotten = 0;
    for (int i = 0; i < CALLS_DEEPEST; i++) {
        __u64 count = count_of(calls);
        if (!count || calls->stack_pointers[(count - 1) % CALLS_DEEPEST] + !at > sp)
            break;
        calls->count = count - 1;
        forgotten++;
    }
    return forgotten;
}

/* A call begins: its number among CALLS. CALLS_DEEPEST: there are too many. LINK: as above. */
__noinline long uplua_call_begin(struct calls *calls, long sp, long link)
{
    if (!calls)
        return CALLS_DEEPEST;
    __u64 count = count_of(calls);
    int again = count && calls->stack_pointers[(count - 1) % CALLS_DEEPEST] == (__u64)sp && is_tail_call((__u64)link, (__u64)sp);
    long forgotten = forget(calls, (__u64)sp, !again) << CALLS_NUMBER_BITS;
    count = count_of(calls);
    if (count >= CALLS_DEEPEST)
        return forgotten | CALLS_DEEPEST;
    calls->stack_pointers[count % CALLS_DEEPEST] = (__u64)sp;
    calls->count = count + 1;
    return forgotten | (long)(count % CALLS_DEEPEST);
}

/* The call that began at SP returns: its number, which is free from here on. CALLS_DEEPEST: there is none. */
__noinline long uplua_call_end(struct calls *calls, long sp)
{
    if (!calls)
        return CALLS_DEEPEST;
    long forgotten = forget(calls, (__u64)sp, 0) << CALLS_NUMBER_BITS;
    __u64 count = count_of(calls);
    __u64 last = (count - 1) % CALLS_DEEPEST;
    if (!count || calls->stack_pointers[last] != (__u64)sp)
        return forgotten | CALLS_DEEPEST;
    calls->count = last;
    return forgotten | (long)last;
}
