/*
 * Unwind tables as both sides see them: rules of 64 bits, and rows that say from which offset in a file on a rule holds.
 *
 * A rule says how a caller's registers come from a frame's. CFA, the canonical frame address of DWARF, is the stack
 * pointer that the caller has once the call is over.
 *
 *   bits 0–2   how the CFA is found (enum rule_kind)
 *   bits 3–7   the base register, by its DWARF number
 *   bits 8–31  offset, signed, in bytes
 *   bits 32–47 where the caller's frame pointer is saved, signed, in units of 8 bytes from the CFA; 0: still in its register
 *   bits 48–63 where the return address is, the same way; 0: still in the link register (aarch64)
 */
#ifndef UPLUA_BPF_UNWIND_H
#define UPLUA_BPF_UNWIND_H

#include <linux/types.h>

enum rule_kind {
    RULE_UNKNOWN,      /* as a whole 0: no call frame information, or none that a rule can express */
    RULE_END,          /* as a whole 1: the outermost frame */
    RULE_REGISTER,     /* CFA = base + offset */
    RULE_PLT,          /* CFA = sp + 8, and 8 more once (pc & 15) >= offset: a lazily bound entry has pushed its number */
    RULE_DEREF,        /* CFA = *(base + offset) */
    RULE_DEREF_PLUS_8, /* CFA = *(base + offset) + 8 */
    RULE_DEREF_OWN,    /* CFA = *(base + offset); the caller's frame pointer is *fp: gcc's frames of realigned stacks */
    RULE_SIGNAL,       /* the frame in which the kernel called a signal handler: registers are in its ucontext */
};

#define RULE_KIND(rule) ((int)((rule) & 7))
#define RULE_BASE(rule) ((int)((rule) >> 3 & 31))
#define RULE_OFFSET(rule) ((__s64)((__u64)(rule) << 32) >> 40)
#define RULE_FRAME(rule) (((__s64)((__u64)(rule) << 16) >> 48) * 8)
#define RULE_LINK(rule) (((__s64)(rule) >> 48) * 8)

/* Rules are shared by all tables; a row has a rule's number. */
#define RULE_NUMBERS 65536

/*
 * A table covers BLOCK bytes of a file at a time. Its words: for each block the number of rows before it, and the number
 * of all rows; then the rows, the low half of the offset above the rule's number. The first row stands at the beginning
 * of the first block, so that each offset has a row that holds.
 */
#define UNWIND_BLOCK_SHIFT 10
#define UNWIND_ROW(offset, rule) ((__u32)(offset) << 16 | (rule))
#define UNWIND_ROW_OFFSET(row) ((row) >> 16)
#define UNWIND_ROW_RULE(row) ((row) & 0xffff)

#endif
