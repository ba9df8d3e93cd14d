/*
 * Finds Lua numbers that are whole and not negative, for which % is the same in Lua and for integers: literals,
 * lengths, sums of these, and counters of loops that begin at such a number and count up, or down to such a number.
 *
 * A handler's loops make up to 2^16 rounds of fewer than 2^17 operations. So a number that begins below 2^52 and grows
 * by no more than 2^19 at a time stays below 2^53, where Lua's numbers are whole.
 */
#include "compile/ir/ir.h"

enum { MOST_PHIS = 32, DEEPEST = 256 };

struct seen_phis {
    const struct value *phis[MOST_PHIS];
    size_t count, depth;
};

static bool is_natural(struct value *value, struct seen_phis *seen);

static bool is_constant(const struct value *value, double least, double most)
{
    return value->op == IR_CONSTANT && value->constant.kind == CAPTURED_NUMBER && value->constant.number >= least &&
           value->constant.number <= most && value->constant.number == (double)(int64_t)value->constant.number;
}

/* The counter of a for loop: it runs from where it begins to where it ends. */
static bool counts_down(const struct value *phi)
{
    return phi->bounds[0] && is_constant(ir_value(phi->bounds[0]), 0, 0x1p52) &&
           is_constant(ir_value(phi->bounds[1]), -0x1p19, -1) && is_constant(ir_value(phi->args[0]), 0, 0x1p52);
}

/* A value that comes back from its own rounds is natural if it begins as a natural number. */
static bool is_natural_phi(const struct value *phi, struct seen_phis *seen)
{
    for (size_t i = 0; i < seen->count; i++)
        if (seen->phis[i] == phi)
            return true;
    if (seen->count == MOST_PHIS)
        return false;
    seen->phis[seen->count++] = phi;
    if (counts_down(phi))
        return true;
    for (size_t i = 0; i < phi->arg_count; i++)
        if (!is_natural(ir_value(phi->args[i]), seen))
            return false;
    return true;
}

static bool is_natural(struct value *value, struct seen_phis *seen)
{
    if (value->type.kind != TYPE_NUM || value->type.optional || seen->depth++ == DEEPEST)
        return false;
    switch (value->op) {
    case IR_CONSTANT:
        return is_constant(value, 0, 0x1p52);
    case IR_LENGTH:
    case IR_FIND:
    case IR_FIND_END:
        return true;
    case IR_PHI:
        return is_natural_phi(value, seen);
    case IR_ADD: {
        struct value *a = ir_value(value->args[0]), *b = ir_value(value->args[1]);
        return is_constant(b, 0, 0x1p19) ? is_natural(a, seen) : is_constant(a, 0, 0x1p19) && is_natural(b, seen);
    }
    case IR_MOD:
        return is_constant(ir_value(value->args[1]), 1, 0x1p52) && is_natural(ir_value(value->args[0]), seen);
    default:
        return false;
    }
}

bool ir_is_nonnegative(const struct value *value)
{
    return is_natural((struct value *)value, &(struct seen_phis){0});
}
