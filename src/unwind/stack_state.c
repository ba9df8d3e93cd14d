/* Distances are counted down from the CFA, so that what a push stores is 8 farther than the stack pointer was. */
#include "unwind/stack_state.h"

#include "unwind/rules.h"

enum { LIMIT = 1 << 21 }; /* bytes between two places of a frame, at most */

#define ALIGNED (1 << 28)
#define IS_ALIGNED(distance) ((distance) >= ALIGNED / 2)

struct stack_state stack_state_unknown(void)
{
    return (struct stack_state){
        .stack = NOWHERE,
        .frame = NOWHERE,
        .arguments = NOWHERE,
        .limit = NOWHERE,
        .frame_kept = NOWHERE,
        .link_kept = NOWHERE,
        .cfa_kept = NOWHERE,
    };
}

struct stack_state stack_state_entry(const struct arch_unwind *arch)
{
    struct stack_state state = stack_state_unknown();
    state.stack = arch->return_address_saved ? 8 : 0;
    state.frame_intact = state.link_intact = true;
    return state;
}

static int32_t same_or_nowhere(int32_t a, int32_t b)
{
    return a == b ? a : NOWHERE;
}

struct stack_state stack_state_meet(const struct stack_state *a, const struct stack_state *b)
{
    return (struct stack_state){
        .stack = same_or_nowhere(a->stack, b->stack),
        .frame = same_or_nowhere(a->frame, b->frame),
        .arguments = same_or_nowhere(a->arguments, b->arguments),
        .limit = same_or_nowhere(a->limit, b->limit),
        .frame_kept = same_or_nowhere(a->frame_kept, b->frame_kept),
        .link_kept = same_or_nowhere(a->link_kept, b->link_kept),
        .cfa_kept = same_or_nowhere(a->cfa_kept, b->cfa_kept),
        .frame_intact = a->frame_intact && b->frame_intact,
        .link_intact = a->link_intact && b->link_intact,
        .outermost = a->outermost && b->outermost,
        .compared = a->compared && b->compared,
    };
}

static int32_t base_of(const struct stack_state *state, enum arch_base base)
{
    switch (base) {
    case BASE_STACK:
        return state->stack;
    case BASE_FRAME:
        return state->frame;
    case BASE_ARGUMENTS:
        return state->arguments;
    case BASE_LIMIT:
        return state->limit;
    default:
        return NOWHERE;
    }
}

/* How far PLACE is below the CFA; NOWHERE where that is not known. */
static int32_t distance_of(const struct stack_state *state, struct arch_place place)
{
    int32_t base = base_of(state, place.base), origin = IS_ALIGNED(base) ? ALIGNED : 0;
    if (base == NOWHERE || place.offset <= -LIMIT || place.offset >= LIMIT)
        return NOWHERE;
    int64_t distance = base - place.offset;
    return distance - origin <= -LIMIT || distance - origin >= LIMIT ? NOWHERE : (int32_t)distance;
}

/* Where a value is, which was in its register or not, and at KEPT, and is put to PUT now. */
static int32_t kept_after(const struct stack_state *before, struct arch_place put, bool in_register, int32_t kept)
{
    int32_t place = distance_of(before, put);
    if (put.base && in_register)
        return place;
    return put.base && place == kept ? NOWHERE : kept; /* something else is there now */
}

/* Where a register points to, which points to POINTS before; KEPT has VALUE. */
static int32_t pointer_after(const struct stack_state *before, const struct arch_pointer *pointer, int32_t points,
                             int32_t kept, int32_t value)
{
    switch (pointer->change) {
    case POINTER_KEPT:
        return points;
    case POINTER_MOVED:
        return distance_of(before, pointer->place);
    case POINTER_LOADED:
        return kept != NOWHERE && distance_of(before, pointer->place) == kept ? value : NOWHERE;
    case POINTER_ALIGNED:
        return before->arguments == 0 ? ALIGNED : NOWHERE;
    default:
        return NOWHERE;
    }
}

/* Whether a register has its caller's value, which it had or not, and which is at KEPT. */
static bool intact_after(const struct stack_state *before, const struct arch_pointer *pointer, bool intact,
                         int32_t kept)
{
    return pointer->change == POINTER_KEPT
               ? intact
               : pointer_after(before, pointer, NOWHERE, kept, 0) == 0 && pointer->change == POINTER_LOADED;
}

/*
 * Whether an instruction that has EFFECT makes the frame the outermost one: it puts 0 for the caller's frame pointer,
 * which is nowhere then, so that nobody is gone back to. So threads begin, as musl's __clone starts them, and programs.
 */
static bool ends_frames(const struct stack_state *before, const struct arch_stack_effect *effect)
{
    return effect->frame.change == POINTER_ZERO && before->frame_intact && before->frame_kept == NOWHERE;
}

struct stack_state stack_state_after(const struct stack_state *before, const struct arch_stack_effect *effect,
                                     bool taken)
{
    struct stack_state after = {
        .stack = pointer_after(before, &effect->stack, before->stack, NOWHERE, 0),
        .frame = pointer_after(before, &effect->frame, before->frame, NOWHERE, 0),
        .arguments = pointer_after(before, &effect->arguments, before->arguments, before->cfa_kept, 0),
        .limit = pointer_after(before, &effect->limit, before->limit, NOWHERE, 0),
        .frame_kept = kept_after(before, effect->frame_kept, before->frame_intact, before->frame_kept),
        .link_kept = kept_after(before, effect->link_kept, before->link_intact, before->link_kept),
        .cfa_kept = kept_after(before, effect->arguments_kept, before->arguments == 0, before->cfa_kept),
        .frame_intact = intact_after(before, &effect->frame, before->frame_intact, before->frame_kept),
        .link_intact = intact_after(before, &effect->link, before->link_intact, before->link_kept),
        .outermost = before->outermost || ends_frames(before, effect),
        .compared = effect->compares,
    };
    if (before->compared && effect->if_unequal && !taken) /* the loop that makes room is over */
        after.stack = before->limit;
    /* What lies below the stack pointer is nobody's any more. */
    int32_t lowest = after.stack == NOWHERE ? INT32_MAX : after.stack;
    after.frame_kept = after.frame_kept > lowest ? NOWHERE : after.frame_kept;
    after.link_kept = after.link_kept > lowest ? NOWHERE : after.link_kept;
    after.cfa_kept = after.cfa_kept > lowest ? NOWHERE : after.cfa_kept;
    return after;
}

/* The rule where the stack was aligned: the CFA is in memory, and found by the frame pointer. */
static uint64_t aligned_rule(const struct arch_unwind *arch, const struct stack_state *state)
{
    if (!IS_ALIGNED(state->frame) || !IS_ALIGNED(state->cfa_kept) || !IS_ALIGNED(state->frame_kept))
        return RULE_UNKNOWN;
    return unwind_rule_deref(RULE_DEREF_BASE, arch->frame_pointer, state->frame - state->cfa_kept, 0,
                             state->frame - state->frame_kept, -8);
}

/* The rule of STATE by the register BASE, which points to POINTS; RULE_UNKNOWN where that does not tell. */
static uint64_t rule_by(const struct arch_unwind *arch, const struct stack_state *state, unsigned base, int32_t points)
{
    bool saved = arch->return_address_saved;
    if (points == NOWHERE || IS_ALIGNED(points) || IS_ALIGNED(state->frame_kept) ||
        (state->frame_kept == NOWHERE && !state->frame_intact) ||
        (!saved && state->link_kept == NOWHERE && !state->link_intact))
        return RULE_UNKNOWN;
    int32_t link = saved ? -8 : state->link_kept == NOWHERE ? 0 : -state->link_kept;
    return unwind_rule(RULE_REGISTER, base, points, state->frame_kept == NOWHERE ? 0 : -state->frame_kept, link);
}

bool stack_state_may_leave(const struct stack_state *state, const struct arch_unwind *arch)
{
    return state->stack == NOWHERE || state->stack == (arch->return_address_saved ? 8 : 0);
}

bool stack_state_may_return(const struct stack_state *state, const struct arch_unwind *arch)
{
    return stack_state_may_leave(state, arch) && state->frame_intact &&
           (arch->return_address_saved || state->link_intact);
}

uint64_t stack_state_rule(const struct stack_state *state, const struct arch_unwind *arch, bool by_frame)
{
    uint64_t rule = by_frame ? rule_by(arch, state, arch->frame_pointer, state->frame)
                             : rule_by(arch, state, arch->stack_pointer, state->stack);
    if (state->outermost)
        return RULE_END;
    if (by_frame && rule == RULE_UNKNOWN)
        rule = aligned_rule(arch, state);
    if (rule == RULE_UNKNOWN || rule == RULE_UNEXPRESSED)
        return RULE_UNKNOWN;
    /* The frame record that ABIs describe, and which functions that gcc itself adds to each program have. */
    bool is_record = arch->return_address_saved && RULE_KIND(rule) == RULE_REGISTER && by_frame &&
                     RULE_OFFSET(rule) == 16 && RULE_FRAME(rule) == -16;
    return is_record ? rule : rule | RULE_GUESSED;
}
