/*
 * What is known of a function's frame before one of its instructions, how an instruction changes that, and the unwind
 * rule that follows from it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "arch/instruction.h"

#define NOWHERE INT32_MIN

/*
 * What is known before an instruction. Distances are those of a place below the CFA, in bytes. How far a stack that was
 * aligned is below it nobody knows: a place there is ALIGNED, and its distance below where the stack was aligned to.
 */
struct stack_state {
    int32_t stack, frame, arguments, limit; /* where these registers point to; NOWHERE: not known */
    /* where the caller's frame pointer, the return address and the CFA itself are in memory; NOWHERE: they are not */
    int32_t frame_kept, link_kept, cfa_kept;
    bool frame_intact, link_intact; /* these are in their registers */
    bool outermost;                 /* nobody has called */
    bool compared;                  /* the stack pointer with the limit, by the instruction before */
};                                  /* without padding: states are compared as bytes */

/* Where a function of ARCH begins; where nothing is known. */
struct stack_state stack_state_entry(const struct arch_unwind *arch);
struct stack_state stack_state_unknown(void);

/* What holds where two ways meet. */
struct stack_state stack_state_meet(const struct stack_state *a, const struct stack_state *b);
/* What holds behind an instruction that has EFFECT; TAKEN: where it jumps to. */
struct stack_state stack_state_after(const struct stack_state *before, const struct arch_stack_effect *effect,
                                     bool taken);

/* True if a function of ARCH may return: it has left everything as it was. */
bool stack_state_may_return(const struct stack_state *state, const struct arch_unwind *arch);
/* True if it may go to another function, as its last act. */
bool stack_state_may_leave(const struct stack_state *state, const struct arch_unwind *arch);

/*
 * The rule of STATE by the frame pointer, or else by the stack pointer (bpf/unwind.h), with RULE_GUESSED unless it is
 * that of a frame record; RULE_UNKNOWN where that register does not tell. Where nobody has called it is RULE_END by
 * either.
 */
uint64_t stack_state_rule(const struct stack_state *state, const struct arch_unwind *arch, bool by_frame);
