/* A walk of the stack that is under way, and its steps from frame to frame that are not as simple as nearly all are. */
#pragma once

#include <linux/types.h>

#include "epilogue.h"
#include "rule_cache.h"
#include "stack.h"

enum {
    WINDOW = 8192,
    WORD = 8,
    LARGEST_FRAME = 1 << 24,
};

/* Where an address is in a file; NUMBER 0: code that is in none. */
struct place {
    __u64 number, offset;
};

enum { VMA_PIVOTS = 15 }; /* of a node of the kernel's tree of vmas (MAPLE_RANGE64_SLOTS - 1) */

/* A way down that tree, in SPACE, to the vma that has ADDRESS (vma.h). */
struct vma_search {
    __u64 space, address;
    __u64 entry; /* the node's address with its type; 0: at the root */
    __u64 vma;   /* the struct vm_area_struct, 0: not found */
    __u64 pivots[VMA_PIVOTS];
};

/* One walk. */
struct scratch {
    __u64 busy;
    __u64 ip, sp, fp;  /* of the frame at work; SP lies behind the return address that IP is */
    __u64 back;        /* 1: IP is a return address: the call before it counts; 0: it is where the frame stands */
    __u64 link;        /* the link register, where that may hold a return address */
    __u64 code_mask;   /* struct unwind_kernel's, where return addresses are signed */
    __u64 start, size; /* the window holds SIZE bytes of the user's memory from START on */
    __u64 top;         /* where the last walk ended, which mostly was the same stack's */
    /* of the process's mappings; 0: they are unknown; -1: there are no tables at all; kept for the next walk … */
    __u64 tag;
    __u64 changes;      /* … as long as this is uplua_unwind_changes … */
    __u64 space, state; /* … and the state of the address space: uplua_unwind_space, uplua_unwind_state */
    /* the number of the frame that was found by a frame pointer that may be none; 0 stands for none */
    __u64 guessed;
    __u64 count, limit, hash;
    __u64 end; /* enum stack_end */
    __u64 raw; /* the number of the first frame whose code is in no file: the stack is of this process; 0: none */
    struct code code;   /* what uplua_unwind_code has found … */
    struct place place; /* … and where */
    __u64 trapped;      /* 1: the innermost frame may stand behind a breakpoint that has not been executed for it */
    __u64 mark;         /* of the first frame: STACK_RETURNED, or 0 */
    __u64 zero;
    /* the registers of where the frame at work was interrupted, read once a rule needs them; SIGNALLED: they are a
     * signal's, and the stack pointer of its trampoline; 0: they are those with which the thread has entered the kernel
     */
    __u64 registers[CONTEXT_REGISTERS], signalled;
    struct epilogue way; /* of code without a table, on aarch64 */
    struct vma_search search;
    struct stack stack;
    __u64 window[WINDOW / 8];
};

/* The word at AT of the window; the mask is for the verifier. */
#define WINDOW_WORD(scratch, at)                                                                                       \
    ({                                                                                                                 \
        __u64 at_ = (at);                                                                                              \
        OPAQUE(at_);                                                                                                   \
        (scratch)->window[(at_ & (WINDOW - 1)) / WORD];                                                                \
    })

extern __u64 uplua_stack_lost[STACK_LOST_COUNT];

static __always_inline void lose(int cause)
{
    __sync_fetch_and_add(&uplua_stack_lost[cause], 1);
}

/*
 * Reads the window from ADDRESS on, LEAST bytes or more; false if nothing can be read. It ends with the page if the
 * next one is missing.
 */
long uplua_stack_fill(struct scratch *scratch, long address, long least);

/*
 * From the frame at work, whose rule is NUMBER, to its caller's. 0 where that is not known, or there is none; -1 where
 * the frame itself is none.
 */
long uplua_stack_climb(struct scratch *scratch, long number);

/*
 * How many of the COUNT frames of the kernel in SCRATCH stand before the one that has fired the tracepoint: its
 * callees, and where RAW is not 0 the program's own before those.
 */
long uplua_stack_own(struct scratch *scratch, long count, long raw);

/*
 * Puts the frame at work, whose rule is NUMBER, where the program is if that is elsewhere: RULE_OF_UPROBES, or behind a
 * breakpoint. 1 if it was moved; 0: it stays.
 */
long uplua_stack_move(struct scratch *scratch, long number);

/* Puts what the address of the frame at work stands for, which is mostly itself, in its place. 0: it stands for the end
 * of the walk. */
long uplua_stack_odd(struct scratch *scratch);

#if !RETURN_ADDRESS_ON_STACK
/* The rule of the code before the return address LINK, of which no table says one, by the code behind it; RULE_ODD
 * where that says none. scratch->code is what is known of the code otherwise. */
long uplua_stack_by_code(struct scratch *scratch, struct rule_cache *cache, long link);
#endif
