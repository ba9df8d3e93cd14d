/*
 * Pairs returns with their entries. Calls nest, so what a return ends is the innermost call; but some never return:
 * longjmp and exceptions leave several at once. Those lie below the stack pointer of what happens next in their thread,
 * as the kernel tells them, too (arch_uretprobe_is_alive). The functions are global to the verifier, as in
 * aggregate.bpf.c.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "arch.h"
#include "call_pairs.h"
#include "stack.h"
#include "trampoline.h"

/* Not 0 while entries and returns are attached: what does not pair before and after is not counted. Written by the
 * script's side. */
volatile __u64 uplua_calls_settled[1];

CALL_PAIRS_NAMES(IS_NAME)

/* A value that the verifier takes for any: so it need not follow each number of calls by itself. */
static __always_inline __u64 count_of(const struct calls *calls)
{
    return *(const volatile __u64 *)&calls->count;
}

/*
 * True if the call that begins at SP takes the place of another one: it was jumped to at that one's end, and returns
 * for both. LINK: the return address, where a register has it. FIELDS: TRAMPOLINE_FIELDS.
 */
static __always_inline int is_tail_call(__u64 link, __u64 sp, __u64 fields)
{
    __u64 back = link;
    if (RETURN_ADDRESS_ON_STACK && bpf_probe_read_user(&back, sizeof back, (const void *)sp))
        return 0;
    return is_trampoline(back, fields);
}

/* The stack pointer that SP, as it is kept, stands for. */
static __always_inline __u64 pointer_of(__u64 sp)
{
    return sp & ~(__u64)(CALLS_UNSETTLED | CALLS_PASSED_BY);
}

/* Whether a call that began at the stack pointer SP, as it is kept, and whose return does not come is to be counted. */
static __always_inline int is_counted(__u64 sp)
{
    return uplua_calls_settled[0] && !(sp & (CALLS_UNSETTLED | CALLS_PASSED_BY));
}

/* Forgets the innermost calls that began at or, unless AT says so, below SP. Returns how many of them count. */
static __always_inline long forget(struct calls *calls, __u64 sp, int at)
{
    long forgotten = 0;
    for (int i = 0; i < CALLS_DEEPEST; i++) {
        __u64 count = count_of(calls);
        __u64 began = count ? calls->stack_pointers[(count - 1) % CALLS_DEEPEST] : 0;
        if (!count || pointer_of(began) + !at > sp)
            break;
        calls->count = count - 1;
        forgotten += is_counted(began);
    }
    return forgotten;
}

static __always_inline long begin(struct calls *calls, long sp, long link, long fields, __u64 marks)
{
    if (!calls)
        return CALLS_DEEPEST;
    __u64 count = count_of(calls);
    int again = count && pointer_of(calls->stack_pointers[(count - 1) % CALLS_DEEPEST]) == (__u64)sp &&
                is_tail_call((__u64)link, (__u64)sp, (__u64)fields);
    long forgotten = forget(calls, (__u64)sp, !again) << CALLS_NUMBER_BITS;
    count = count_of(calls);
    if (count >= CALLS_DEEPEST)
        return forgotten | CALLS_DEEPEST;
    calls->stack_pointers[count % CALLS_DEEPEST] = (__u64)sp | marks | (uplua_calls_settled[0] ? 0 : CALLS_UNSETTLED);
    calls->count = count + 1;
    return forgotten | (long)(count % CALLS_DEEPEST);
}

/* A call begins: its number among CALLS. CALLS_DEEPEST: there are too many. LINK, FIELDS: as above. */
__noinline long uplua_call_begin(struct calls *calls, long sp, long link, long fields)
{
    return begin(calls, sp, link, fields, 0);
}

/* The same for a call of which nothing is kept but that it has begun. */
__noinline long uplua_call_pass_by(struct calls *calls, long sp, long link, long fields)
{
    return begin(calls, sp, link, fields, CALLS_PASSED_BY);
}

/* The call that began at SP returns: its number, which is free from here on. CALLS_DEEPEST: there is none;
 * CALLS_DETACHED: nor need there be; CALLS_LEFT_OUT: it was passed by. */
__noinline long uplua_call_end(struct calls *calls, long sp)
{
    if (!calls)
        return CALLS_DEEPEST;
    long forgotten = forget(calls, (__u64)sp, 0) << CALLS_NUMBER_BITS;
    __u64 count = count_of(calls);
    __u64 last = (count - 1) % CALLS_DEEPEST;
    if (!count || pointer_of(calls->stack_pointers[last]) != (__u64)sp)
        return forgotten | (uplua_calls_settled[0] ? CALLS_DEEPEST : CALLS_DETACHED);
    int is_passed_by = (calls->stack_pointers[last] & CALLS_PASSED_BY) != 0;
    calls->count = last;
    return forgotten | (is_passed_by ? CALLS_LEFT_OUT : (long)last);
}

/* How many of CALLS, of a thread that ends, will never return. */
__noinline long uplua_calls_left(struct calls *calls)
{
    if (!calls)
        return 0;
    long left = 0;
    for (__u64 i = 0; i < CALLS_DEEPEST && i < count_of(calls); i++)
        left += is_counted(calls->stack_pointers[i]);
    return left;
}
