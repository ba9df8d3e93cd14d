/* The steps of the stack walk that take longer: to the next window, and over frames that the loop in stack.bpf.c
 * leaves. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "arch.h"
#include "stack_slow.h"

enum {
    USUAL_WINDOW = 2048,     /* of a stack whose top is not known */
    LARGEST_STACK = 1 << 18, /* whose top is believed to be known */
    PAGE = 4096,             /* the smallest unit that a read can fail in */
    LOWEST_CODE = 4096,
};

/*
 * How much of the stack from ADDRESS on to read at once: all of it, if its top is known, since beginning a read
 * costs as much as 6 KiB of it. Where the top is not known, the window may reach beyond it, where nothing is, and a
 * read that fails costs ten others. (Above main and above a thread's first frame lie more than 2 KiB, mostly.)
 */
static __always_inline __u64 window_size(const struct scratch *scratch, __u64 address, __u64 least)
{
    __u64 size = scratch->top - address, most = (scratch->limit + 2) * (WINDOW / 64);
    if (size - 1 >= LARGEST_STACK)
        size = USUAL_WINDOW;
    if (size > most)
        size = most;
    if (size < least) /* the other walk's top was not this stack's */
        size = least;
    OPAQUE(size);
    return size < WINDOW ? size : WINDOW;
}

long uplua_stack_fill(struct scratch *scratch, long address, long least)
{
    if (!scratch)
        return 0;
    __u64 size = window_size(scratch, address, least), left = PAGE - (address & (PAGE - 1));
    scratch->start = address;
    scratch->size = size;
    if (!bpf_probe_read_user(scratch->window, size, (void *)address))
        return 1;
    OPAQUE(left);
    if (left >= size || left > PAGE) /* it lies in one page */
        return 0;
    scratch->size = left;
    return !bpf_probe_read_user(scratch->window, left, (void *)address);
}

static __always_inline __u64 peek(__u64 address)
{
    __u64 word = 0;
    bpf_probe_read_user(&word, sizeof word, (void *)address);
    return word;
}

#if !RETURN_ADDRESS_ON_STACK
struct search {
    /* in a map, where the verifier takes every number for unknown: it looks at one round for all */
    struct epilogue *way;
};

/* Takes the next instruction of the way that leads to an epilogue. What cannot be read is none. */
static long follow_way(__u32 index __attribute__((unused)), struct search *search)
{
    struct epilogue *way = search->way;
    __u32 code = 0;
    bpf_probe_read_user(&code, sizeof code, (void *)way->at);
    return epilogue_take(way, code);
}

long uplua_stack_by_code(struct scratch *scratch, struct rule_cache *cache, long link)
{
    if (!scratch || !cache)
        return RULE_ODD;
    struct search search = {&scratch->way};
    search.way->start = link;
    epilogue_begin(search.way, 0);
    __u64 rule = RULE_UNKNOWN;
    if (bpf_loop(EPILOGUE_STEPS, follow_way, &search, 0) < EPILOGUE_STEPS)
        rule = epilogue_rule(search.way);
    if (!is_plain(rule) || !scratch->code.to_file)
        rule |= RULE_ODD;
    keep_code(cache, scratch->tag, link, (struct code){rule, scratch->code.to_file});
    return rule;
}
#endif

/*
 * What the frame at work has in the register with the DWARF number NUMBER; 0 where that is not known: a call has kept
 * few of them.
 */
long uplua_stack_register(struct scratch *scratch, long number)
{
    if (!scratch || number == DWARF_STACK_POINTER)
        return scratch ? scratch->sp : 0;
    if (number == DWARF_FRAME_POINTER)
        return scratch->fp;
    __u64 at = number;
    if (scratch->back || at >= CONTEXT_REGISTERS)
        return 0;
    long failed;
    if (scratch->signalled) {
        at = SIGNAL_REGISTER(at);
        failed = bpf_probe_read_user(scratch->registers, sizeof scratch->registers,
                                     (void *)(scratch->signalled + SIGNAL_REGISTERS));
    } else {
        at = CONTEXT_REGISTER(at);
        failed = bpf_probe_read_kernel(scratch->registers, sizeof scratch->registers,
                                       (void *)bpf_task_pt_regs(bpf_get_current_task_btf()));
    }
    OPAQUE(at);
    return failed || at >= CONTEXT_REGISTERS ? 0 : scratch->registers[at];
}

/* Frames that are neither plain nor found by the frame pointer: 1 where the walk goes on. */
long uplua_stack_special(struct scratch *scratch, long number)
{
    __u64 rule = number;
    if (!scratch)
        return 0;
    int kind = RULE_KIND(rule);
    if (kind == RULE_SIGNAL) { /* of code that was interrupted anywhere */
        __u64 sp = scratch->sp;
        scratch->ip = peek(sp + SIGNAL_INSTRUCTION);
        scratch->fp = peek(sp + SIGNAL_FRAME_POINTER);
        scratch->sp = peek(sp + SIGNAL_STACK_POINTER);
#if !RETURN_ADDRESS_ON_STACK
        /* a leaf function may have been interrupted */
        scratch->link = CODE_ADDRESS(peek(sp + SIGNAL_LINK), scratch->code_mask);
#endif
        scratch->signalled = sp;
        scratch->back = 0;
        scratch->size = 0;
        return 1;
    }
    if (kind != RULE_DEREF && kind != RULE_DEREF_BASE)
        return 0;
    __u64 base = uplua_stack_register(scratch, RULE_BASE(rule));
    __u64 cfa = peek(base + RULE_PLACE(rule)) + RULE_ADDEND(rule);
    if (!base || cfa - scratch->sp > LARGEST_FRAME)
        return 0;
    if (kind == RULE_DEREF_BASE)
        scratch->fp = peek(base + RULE_FRAME(rule));
    else if (RULE_FRAME(rule))
        scratch->fp = peek(cfa + RULE_FRAME(rule));
    scratch->ip = CODE_ADDRESS(peek(cfa + RULE_LINK(rule)), scratch->code_mask);
    scratch->sp = cfa;
    scratch->back = 1;
    return 1;
}

/* True if the return address LINK is where a call comes back to: its own, or that of a return probe. */
static __always_inline int is_behind_call(__u64 link)
{
    __u64 code = 0;
    bpf_probe_read_user(&code, sizeof code, (void *)(link - sizeof code));
    return ENDS_WITH_CALL(code) || uplua_unwind_is_trampoline(link);
}

/* The end of a stack whose last frame's rule names a register that is not known. */
static __always_inline long no_register(struct scratch *scratch)
{
    scratch->end = STACK_NO_TABLE;
    return 0;
}

long uplua_stack_climb(struct scratch *scratch, long number)
{
    __u64 rule = number;
    if (!scratch)
        return 0;
    if (rule == RULE_GONE) { /* where it was is not known any more, and each process has it at another address */
        scratch->end = STACK_UNREADABLE;
        return -1;
    }
    /* A program whose code comes first in its file is mapped as a whole for a moment, as code, and so reported. */
    if (!scratch->back && RULE_KIND(rule) == RULE_UNKNOWN && rule != RULE_UNMAPPED &&
        !uplua_unwind_is_code(scratch, scratch->ip))
        rule = RULE_NO_CODE;
    /* Where nothing can be executed, nothing was: what called that, or jumped there, has its return address where a
     * call leaves it. */
    __u64 called = rule == RULE_NO_CODE && !scratch->back;
    if (called)
        rule = RULE_CALLED;
    if (rule == RULE_UNMAPPED || rule == RULE_NO_CODE) {
        int wrong = scratch->guessed && scratch->guessed == scratch->count; /* the frame pointer was none */
        scratch->end = wrong ? STACK_NO_TABLE : STACK_UNMAPPED;
        return -wrong;
    }
    if (RULE_KIND(rule) == RULE_END) {
        scratch->end = STACK_WHOLE;
        return 0;
    }
    scratch->end = RULE_KIND(rule) == RULE_UNKNOWN ? STACK_NO_TABLE : STACK_UNREADABLE; /* if it ends here */
    __u64 held = RULE_KIND(rule) == RULE_HELD, kept = 0;
    if (RULE_KIND(rule) != RULE_REGISTER && !held && rule != RULE_BY_FRAME_POINTER)
        return uplua_stack_special(scratch, rule);
    if (held && !(kept = uplua_stack_register(scratch, RULE_HOLDER(rule))))
        return no_register(scratch);
    __u64 base = uplua_stack_register(scratch, RULE_BASE(rule)), cfa = base + RULE_OFFSET(rule);
    if (!base && RULE_BASE(rule) != DWARF_FRAME_POINTER)
        return no_register(scratch);
    /* The stack grows downwards. */
    if (cfa - scratch->sp > LARGEST_FRAME || cfa & 7 || cfa >= USER_ADDRESSES)
        return 0;
    __u64 link = held ? cfa : cfa + RULE_LINK(rule), frame = RULE_FRAME(rule) ? cfa + RULE_FRAME(rule) : link;
    __u64 link_at = link - scratch->start, frame_at = frame - scratch->start;
    if (link_at >= scratch->size || frame_at >= scratch->size) {
        if (!uplua_stack_fill(scratch, link < frame ? link : frame,
                              WORD + (link < frame ? frame - link : link - frame)))
            return called ? -1 : 0; /* -1: the registers are of a program whose place another one is taking */
        link_at = link - scratch->start;
        frame_at = frame - scratch->start;
        if (link_at >= scratch->size || frame_at >= scratch->size)
            return 0;
    }
    if (RULE_FRAME(rule))
        scratch->fp = WINDOW_WORD(scratch, frame_at);
    if (held) {
        scratch->ip = CODE_ADDRESS(kept, scratch->code_mask);
    } else if (RETURN_ADDRESS_ON_STACK || RULE_LINK(rule)) {
        scratch->ip = CODE_ADDRESS(WINDOW_WORD(scratch, link_at), scratch->code_mask);
    } else {
        scratch->ip = scratch->link;
        scratch->link = 0;
    }
    scratch->sp = cfa;
    scratch->back = 1;
    if (called && !is_behind_call(scratch->ip)) { /* a return to nowhere */
        scratch->end = STACK_UNMAPPED;
        return 0;
    }
    scratch->guessed = RULE_KIND(rule) == RULE_UNKNOWN ? scratch->count + 1 : 0;
    return 1;
}

/*
 * By how much the kernel has lowered the stack pointer ahead of the instruction pointer, 0 where RULE finds a return
 * address without that. It executes a push for the program at a breakpoint; or the probe is a call of a trampoline, and
 * the kernel has put back what that has pushed, the last of it the address behind the probe.
 */
static __always_inline __u64 moved_down(struct scratch *scratch, __u64 rule)
{
    enum { PUSHED = 4 * WORD };
    if (!RETURN_ADDRESS_ON_STACK || RULE_KIND(rule) != RULE_REGISTER || RULE_BASE(rule) != DWARF_STACK_POINTER)
        return 0;
    __u64 cfa = scratch->sp + RULE_OFFSET(rule);
    __u64 far = peek(scratch->sp + PUSHED - WORD) == scratch->ip + CALL_SIZE ? PUSHED
                : uplua_unwind_is_breakpoint(scratch->ip)                    ? WORD
                                                                             : 0;
    return far && !is_behind_call(peek(cfa - WORD)) && is_behind_call(peek(cfa - WORD + far)) ? far : 0;
}

long uplua_stack_move(struct scratch *scratch, long number)
{
    __u64 rule = number;
    if (!scratch)
        return 0;
    __u64 trapped = scratch->trapped;
    scratch->trapped = 0;
    if (rule == RULE_OF_UPROBES)
        return uplua_unwind_leave(scratch);
    if (!trapped)
        return 0;
    __u64 moved = moved_down(scratch, rule);
    if (moved) {
        scratch->sp += moved;
        return 1;
    }
    /*
     * Of an instruction that has been executed for the program, or of padding before a function's first one, a
     * breakpoint is there, too. So it counts only where a function begins that has just been called.
     */
    if ((rule | RULE_ODD) == RULE_CALLED || !uplua_unwind_is_breakpoint(scratch->ip - 1) ||
        !is_behind_call(peek(scratch->sp)))
        return 0;
    scratch->ip--;
    return 1;
}

long uplua_stack_odd(struct scratch *scratch)
{
    if (!scratch)
        return 0;
    __u64 ip = scratch->ip;
    if (uplua_unwind_is_trampoline(ip)) {
        __u64 original = uplua_unwind_return(RETURN_ADDRESS_ON_STACK ? scratch->sp - WORD : scratch->sp);
        if (!original)
            lose(STACK_LOST_RETURN);
        scratch->ip = original ? original : ip;
        return 1;
    }
    if (ip >= LOWEST_CODE && ip < USER_ADDRESSES)
        return 1;
    if (!scratch->back && scratch->sp) /* a call of NULL; a thread of the kernel's own has no stack here */
        return 1;
    int guessed = scratch->guessed && scratch->guessed == scratch->count + 1; /* by what was no frame pointer */
    scratch->end = guessed ? STACK_NO_TABLE : ip ? STACK_UNREADABLE : STACK_WHOLE;
    return 0;
}
