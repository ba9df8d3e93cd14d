/* What the files of the stack walk share, on the kernel's side only. */
#ifndef UPLUA_BPF_WALK_H
#define UPLUA_BPF_WALK_H

#include "arch.h"
#include "unwind.h"

/* Keeps the compiler from telling the verifier less than it knows, or from moving a bound check behind an address. */
#define OPAQUE(x) asm volatile("" : "+r"(x))

#define RULE(kind, base, offset, frame, link)                                                                          \
    ((__u64)(kind) | (base) << 3 | (__u64)((offset) & 0xffffff) << 8 | (__u64)((frame) / 8 & 0xffff) << 32 |           \
     (__u64)((link) / 8 & 0xffff) << 48)

/* No table says anything: by the frame pointer, which may be something else. */
#define RULE_BY_FRAME_POINTER RULE(RULE_UNKNOWN, DWARF_FRAME_POINTER, 16, FRAME_RECORD_FRAME, FRAME_RECORD_LINK)
/* The address lies in no executable mapping that is known. */
#define RULE_UNMAPPED RULE(RULE_UNKNOWN, DWARF_STACK_POINTER, 0, 0, 0)
/* Nothing has happened since the call. */
#define RULE_CALLED                                                                                                    \
    RULE(RULE_REGISTER, DWARF_STACK_POINTER, 8 * RETURN_ADDRESS_ON_STACK, 0, -8 * RETURN_ADDRESS_ON_STACK)

/*
 * What the current process's mappings are known by: changes with them. 0: they are not known, and have been asked for;
 * -1: nobody makes tables.
 */
long uplua_unwind_generation(void);

/* The rule for the current process's code at PC: one of unwind.h's except RULE_PLT, or one of those above. */
long uplua_unwind_rule(long pc);

/*
 * The return address that a return probe has replaced at the stack's address SLOT (aarch64: with stack pointer SLOT);
 * 0 where that cannot be found out.
 */
long uplua_unwind_return(long slot);

#endif
