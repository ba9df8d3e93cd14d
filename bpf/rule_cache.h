/* The common part of the stack walk's files, on the kernel's side only. */
#pragma once

#include "arch.h"
#include "unwind.h"

/* Keeps the compiler from telling the verifier less than it knows, or from moving a bound check behind an address. */
#define OPAQUE(x) asm volatile("" : "+r"(x))

/* Goes to LABEL once the kernel finds that a loop has gone on for long enough (Linux 6.9); clang has known it since
 * 19. */
#define MAY_GOTO(label)                                                                                                \
    asm volatile goto("1: .byte 0xe5; .byte 0; .long ((%l[" #label "] - 1b - 8) / 8) & 0xffff; .short 0" : : : : label)

#define RULE(kind, base, offset, frame, link)                                                                          \
    ((__u64)(kind) | (base) << 3 | (__u64)((link) / 8 & 0x7fff) << 8 | (__u64)((frame) / 8 & 0xffff) << 24 |           \
     (__u64)((offset)&0x7fffff) << 40)

/*
 * Plain rules are what nearly all code has: the CFA lies above the stack pointer, the return address at PLAIN_LINK from
 * there, and a saved frame pointer somewhere between. All others are marked, so that the walk has to look at one bit.
 */
#define RULE_ODD (1ull << 63)

/* Nearly as plain: the same above the frame pointer. */
#if RETURN_ADDRESS_ON_STACK
#define BY_FRAME_POINTER_MASK (RULE_ODD | 0xffffff)
#define PLAIN_LINK(rule) (-8ll)
#define HAS_PLAIN_LINK(rule) (RULE_LINK(rule) == PLAIN_LINK(rule))
#define IS_BY_FRAME_POINTER(rule) (((rule)&BY_FRAME_POINTER_MASK) == BY_FRAME_POINTER)
#else
#define BY_FRAME_POINTER_MASK (RULE_ODD | 0xff)
#define PLAIN_LINK(rule) RULE_LINK(rule)
#define HAS_PLAIN_LINK(rule) (PLAIN_LINK(rule) < 0) /* 0: it is in the link register */
#define IS_BY_FRAME_POINTER(rule) (((rule)&BY_FRAME_POINTER_MASK) == BY_FRAME_POINTER && HAS_PLAIN_LINK(rule))
#endif
#define BY_FRAME_POINTER (RULE_ODD | (RULE(RULE_REGISTER, DWARF_FRAME_POINTER, 0, 0, -8) & BY_FRAME_POINTER_MASK))

/* No table says anything: by the frame pointer, which may be something else. */
#define RULE_BY_FRAME_POINTER                                                                                          \
    (RULE_ODD | RULE(RULE_UNKNOWN, DWARF_FRAME_POINTER, 16, FRAME_RECORD_FRAME, FRAME_RECORD_LINK))
/* The address lies in no executable mapping that is known. */
#define RULE_UNMAPPED (RULE_ODD | RULE(RULE_UNKNOWN, DWARF_STACK_POINTER, 0, 0, 0))
/* The same, and the kernel has nothing there that can be executed. */
#define RULE_NO_CODE (RULE_ODD | RULE(RULE_UNKNOWN, DWARF_STACK_POINTER, 8, 0, 0))
/* Nothing is mapped any more: the process is exiting. */
#define RULE_GONE (RULE_ODD | RULE(RULE_UNKNOWN, DWARF_STACK_POINTER, 16, 0, 0))
/* Code of the kernel's in the process, which it executes on behalf of uprobes: uplua_unwind_leave. */
#define RULE_OF_UPROBES (RULE_ODD | RULE(RULE_UNKNOWN, DWARF_STACK_POINTER, 24, 0, 0))
/* Where a function begins, before its first instruction. */
#define RULE_CALLED                                                                                                    \
    (RULE_ODD | RULE(RULE_REGISTER, DWARF_STACK_POINTER, 8 * RETURN_ADDRESS_ON_STACK, 0, -8 * RETURN_ADDRESS_ON_STACK))

/* Murmur3's finalizer, as a step: every bit of WORD changes half of the bits. */
static __always_inline __u64 mix(__u64 hash, __u64 word)
{
    hash = (hash ^ word) * 0xff51afd7ed558ccdull;
    return hash ^ hash >> 32;
}

enum {
    RULES = 4096, /* kept: 128 KiB */
    KNOWN = 1024,
};

/* What is known of code. */
struct code {
    __u64 rule; /* how its frames are unwound */
    /* what makes an address there a frame of STACK_IN_FILE, by addition; 0: it is in no file that is known */
    __u64 to_file;
};

/*
 * What was found last. CHECK is the key, a hash of address and process, combined with the rest: an entry that
 * another CPU is just writing is thereby none, and needs no lock.
 */
struct rule_cache {
    struct {
        struct code code;
        __u64 check, unused; /* two entries, which are looked at together, have a line of the CPU's cache */
    } entries[RULES];
    __u64 known[KNOWN]; /* ids of stacks that are in the store, which nothing leaves */
};

/* The key of the code before the return address LINK, in a process whose mappings are known by TAG. */
static __always_inline __u64 rule_key(__u64 tag, __u64 link)
{
    return (tag ^ link) * 0xff51afd7ed558ccdull;
}

/*
 * The rule of such code is in the entry of this index or the one behind it. Addresses differ most in their low bits,
 * which therefore say it, without a multiplication: the walk waits for it, and whether it was the right one is known
 * a little later, and nearly always.
 */
static __always_inline __u64 rule_index(__u64 tag, __u64 link)
{
    __u64 at = tag ^ link;
    OPAQUE(at);
    return at & (RULES - 2);
}

/* True if the walk may take RULE for plain without a further look. */
static __always_inline int is_plain(__u64 rule)
{
    __s64 offset = RULE_OFFSET(rule), link = RULE_LINK(rule), frame = RULE_FRAME(rule);
    return (rule & 0xff) == (RULE_REGISTER | DWARF_STACK_POINTER << 3) && !(offset & 7) && offset > 0 &&
           HAS_PLAIN_LINK(rule) && offset + link >= 0 && frame <= 0 && offset + frame >= 0;
}

/*
 * Keeps CODE of such code, unless TAG is 0: the mappings are unknown, and it may soon be another. Its rule is plain
 * only where it is in a file, so that the walk need not look at that.
 */
static __always_inline void keep_code(struct rule_cache *cache, __u64 tag, __u64 link, struct code code)
{
    __u64 key = rule_key(tag, link), at = rule_index(tag, link);
    if (tag) {
        cache->entries[at + 1].code = cache->entries[at].code;
        cache->entries[at + 1].check = cache->entries[at].check;
        cache->entries[at].code = code;
        cache->entries[at].check = key ^ code.rule ^ code.to_file;
    }
}

/* A number that changes when what is known of any process's mappings does. */
long uplua_unwind_changes(void);

/*
 * The current process's address space (struct mm_struct), which is the same until uplua_unwind_changes changes; and a
 * number that changes when what is mapped in SPACE does, of 32 bits. 0: not known.
 */
long uplua_unwind_space(void);
long uplua_unwind_state(long space);

/* The bits that addresses of code have, of signed ones. */
long uplua_unwind_code_mask(void);

/*
 * Identifies the program that the current process executes by a time in ns of CLOCK_MONOTONIC: the end of its execve,
 * or the process's start. No other process that has its number, before or later, has the same.
 */
long uplua_unwind_program(void);

/*
 * The generation of the mappings of the current process, which executes PROGRAM: changes with them. 0: they are not
 * known, or those of an earlier program are, and have been asked for; -1: nobody makes tables.
 */
long uplua_unwind_generation(long program);

struct scratch;
/*
 * Finds the current process's code before the return address LINK: puts it into SCRATCH, and into CACHE unless it may
 * soon be another. Its rule is one of unwind.h's except RULE_PLT, or one of those above, marked with RULE_ODD unless it
 * is plain. 1, or 0 where the parameters are NULL.
 */
long uplua_unwind_code(struct rule_cache *cache, struct scratch *scratch, long link);

/* 1 if the kernel has ADDRESS of the current process in a vma whose contents can be executed, or cannot be asked;
 * else 0. SCRATCH: the walk that asks. */
long uplua_unwind_is_code(struct scratch *scratch, long address);

/* 1 if there is a breakpoint at ADDRESS of the current process that has moved a thread behind it, else 0. */
long uplua_unwind_is_breakpoint(long address);

/* 1 if ADDRESS is where the current process's functions return to while return probes wait for them (trampoline.h),
 * else 0. */
long uplua_unwind_is_trampoline(long address);

/*
 * Puts the frame at work of SCRATCH, whose rule is RULE_OF_UPROBES, where the program is: on the instruction of which
 * the kernel executes a copy, or that its code has been called for. 1, or 0 where that cannot be found out.
 */
long uplua_unwind_leave(struct scratch *scratch);

/* The same of the current thread, which was interrupted at IP with the stack pointer SP: where it is in the program. */
long uplua_unwind_place(long ip, long sp);

/*
 * The return address that a return probe has replaced at the stack's address SLOT (aarch64: with stack pointer SLOT);
 * 0 where that cannot be found out.
 */
long uplua_unwind_return(long slot);

/* The same of the call that has returned last, which the kernel does not wait for any more. */
long uplua_unwind_returned(long slot);
