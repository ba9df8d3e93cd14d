/*
 * Code that the kernel has threads execute on behalf of uprobes, in pages of each process (kernel/events/uprobes.c,
 * arch/x86/kernel/uprobes.c): copies of probed instructions, and trampolines that call it. How to get from there to
 * where the program is.
 */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "rule_cache.h"
#include "stack_slow.h"
#include "trampoline.h"
#include "unwind.h"

enum { UNREAD = 1 };

/* The calls that return probes wait for are a list, the innermost first. */
struct search {
    struct unwind_kernel *kernel;
    __u64 slot, instance, original;
};

static long search_returns(__u32 index __attribute__((unused)), struct search *search)
{
    struct unwind_kernel *kernel = search->kernel;
    __u64 instance = search->instance;
    if (!instance)
        return 1;
    if (kernel_word(instance + kernel->return_stack) == search->slot) {
        search->original = kernel_word(instance + kernel->return_original);
        return 1;
    }
    search->instance = kernel_word(instance + kernel->return_next);
    return 0;
}

/* The trampoline that the code at ADDRESS is of, by the page's first bytes; UNREAD: its first instruction is about to
 * be read for the first time; 0: of none. */
static __always_inline __u64 trampoline_at(__u64 address)
{
    __u64 code = 0;
#if HAS_TRAMPOLINES
    __u64 inside = address & (SMALLEST_PAGE - 1);
    if (inside < TRAMPOLINE_SIZE && bpf_probe_read_user(&code, sizeof code, (void *)(address - inside)))
        return inside ? 0 : UNREAD;
    code = code == CALL_TRAMPOLINE || code == RETURN_TRAMPOLINE ? code : 0;
#endif
    return code;
}

/* From the copy of an instruction that the current thread executes at *IP to the instruction. */
static __always_inline int leave_copy(struct unwind_kernel *kernel, __u64 *ip)
{
    enum { LONGEST = 16 }; /* bytes of an instruction; behind it the thread is before the kernel sends it on */
    __u64 uprobes = kernel->uprobes_copy ? kernel_word((__u64)bpf_get_current_task() + kernel->task_uprobes) : 0;
    __u64 copy = uprobes ? kernel_word(uprobes + kernel->uprobes_copy) : 0; /* 0: it executes none */
    if (!copy || *ip - copy > LONGEST)
        return 0;
    *ip += kernel_word(uprobes + kernel->uprobes_original) - copy;
    return 1;
}

/* The word of the process's memory at ADDRESS, by way of *WORD, which is one for all: the stack is small. */
static __always_inline __u64 user_word(__u64 *word, __u64 address)
{
    *word = 0;
    bpf_probe_read_user(word, sizeof *word, (void *)address);
    return *word;
}

/* Whether BEFORE, the word in front of LINK, ends with a call of the code at BASE. */
static __always_inline int is_call_of(__u64 before, __u64 link, __u64 base)
{
    return CODE_BYTE(before, CALL_SIZE) == 0xe8 && link + ((__s64)before >> 32) == base;
}

/* From a trampoline that calls the kernel to where the program called it, or is about to return to. */
static __always_inline int leave_trampoline(struct unwind_kernel *kernel, __u64 *ip, __u64 *sp)
{
#if HAS_TRAMPOLINES
    __u64 inside = *ip & (SMALLEST_PAGE - 1), code = trampoline_at(*ip), link, word;
    if (code == UNREAD) {
        link = user_word(&word, *sp);
        if (!is_call_of(user_word(&word, link - WORD), link, *ip))
            return 0;
        code = CALL_TRAMPOLINE;
    }
    int called = code == CALL_TRAMPOLINE;
    if (!code && (inside != BREAKPOINT_SIZE || !is_trampoline(*ip - inside, kernel->trampoline)))
        return 0;
    __u64 pushed = called ? CALL_TRAMPOLINE_PUSHED : code ? RETURN_TRAMPOLINE_PUSHED : 0; /* a breakpoint: nothing */
    __u64 before = *sp + WORD * (pushed >> 2 * inside & 3); /* the stack pointer that the program had there */
    if (called) {
        link = user_word(&word, before);
        if (!is_call_of(user_word(&word, link - WORD), link, *ip - inside)) {
            before = *sp - WORD; /* the kernel has taken off what was pushed */
            link = user_word(&word, before);
            if (!is_call_of(user_word(&word, link - WORD), link, *ip - inside))
                return 0;
        }
        if (inside <= TRAMPOLINE_SYSCALL_END) /* what the probe stands for has not been executed */
            link -= CALL_SIZE;
        before += WORD;
    } else {
        link = uplua_unwind_return(before - WORD);
        if (!link && (link = uplua_unwind_return(*sp - WORD))) /* the kernel has taken off what was pushed */
            before = *sp;
        if (!link && inside >= TRAMPOLINE_SYSCALL_END) /* the kernel has put it back … */
            link = user_word(&word, before - WORD);
        code = user_word(&word, link - WORD);
        if (inside == TRAMPOLINE_SYSCALL_END && !ENDS_WITH_CALL(code)) { /* … or is about to */
            link = uplua_unwind_returned(before - WORD);
            code = user_word(&word, link - WORD);
        }
        if (!ENDS_WITH_CALL(code))
            return 0;
    }
    *ip = link;
    *sp = before;
    return 1;
#else
    (void)kernel, (void)ip, (void)sp;
    return 0;
#endif
}
