/*
 * A block that does nothing but decide by the way on which it was entered is done away with: each way decides for
 * itself. Such blocks come from `a and b` as a condition, and from inlined functions that return true or false.
 */
#include "compile/ir/fold.h"
#include "compile/optimise/optimise.h"

/* Lua's truth of VALUE as far as it is known from its type too: 0, 1 or -1. */
static int known_truth(const struct value *value)
{
    switch (value->type.kind) {
    case TYPE_NIL:
        return 0;
    case TYPE_NONE:
    case TYPE_BOOLEAN:
    case TYPE_STATIC:
        return fold_truth(value);
    default:
        return value->type.optional ? -1 : 1;
    }
}

/* The outcome of CONDITION (NULL: Lua's truth of the phi itself) with ARG in the place of PHI: 0, 1 or -1. */
static int outcome(const struct value *condition, const struct value *phi, struct value *arg)
{
    if (!condition)
        return known_truth(arg);
    if (condition->op == IR_TRUTH || condition->op == IR_NOT) {
        int truth = known_truth(arg);
        return truth < 0 || condition->op == IR_TRUTH ? truth : !truth;
    }
    struct value *a = ir_value(condition->args[0]), *b = ir_value(condition->args[1]);
    return fold_compare(condition->op, a == phi ? arg : a, b == phi ? arg : b);
}

struct decider {
    struct block *block;
    struct value *phi, *condition, *branch;
};

static bool is_condition(const struct value *value)
{
    return value->op == IR_EQ || value->op == IR_LT || value->op == IR_LE || value->op == IR_TRUTH ||
           value->op == IR_NOT;
}

/* True if BLOCK is one phi, a condition of it or none, and a branch on that, and nobody else wants the phi. */
static bool is_decider(struct block *block, struct decider *decider)
{
    *decider = (struct decider){.block = block, .phi = block->first, .branch = block->last};
    struct value *phi = decider->phi, *next = phi->next;
    if (phi->op != IR_PHI || !next || block->is_header || !block->reachable || phi->uses != 1)
        return false;
    if (next != decider->branch) {
        decider->condition = next;
        if (!is_condition(next) || next->next != decider->branch || next->uses != 1 || ir_has_effect(next))
            return false;
    }
    const struct value *decided = decider->condition ? decider->condition : phi;
    if (decider->branch->op != IR_BRANCH || ir_value(decider->branch->args[0]) != decided)
        return false;
    for (unsigned i = 0; i < 2; i++)
        if (block->next[i]->is_header || block->next[i] == block || block->next[i] == block->next[!i])
            return false;
    bool wanted = !decider->condition;
    for (size_t i = 0; decider->condition && i < decider->condition->arg_count; i++)
        wanted |= ir_value(decider->condition->args[i]) == phi;
    for (size_t i = 0; i < block->predecessor_count; i++)
        if (block->predecessors[i]->last->op != IR_JUMP)
            return false;
    return wanted;
}

/* Lets FROM, which has no way to TO yet, lead to TO as DECIDER does. */
static void add_way(struct function *function, struct block *from, struct block *to, const struct decider *decider)
{
    size_t like = 0, before = to->predecessor_count;
    while (to->predecessors[like] != decider->block)
        like++;
    ir_connect(from, to, function);
    for (struct value *phi = to->first; phi->op == IR_PHI; phi = phi->next) {
        phi->args = arena_grow(function->arena, phi->args, before, sizeof *phi->args);
        phi->args[phi->arg_count++] = phi->args[like];
        ir_value(phi->args[like])->uses++;
    }
}

/* A block that only leads from FROM to TO: phis tell apart ways, which begin in blocks with one end. */
static void add_way_between(struct function *function, struct block *from, struct block *to,
                            const struct decider *decider)
{
    if (to->first->op != IR_PHI)
        return add_way(function, from, to, decider);
    struct block *between = ir_block(function);
    between->following = decider->block->following;
    decider->block->following = between;
    between->loop = decider->block->loop;
    between->reachable = true;
    ir_append(function, between, IR_JUMP, decider->branch->position, NULL, 0);
    ir_connect(from, between, function);
    add_way(function, between, to, decider);
}

/* The end of FROM, a jump to the decider, with the phi's argument ARG there. */
static void decide_in(struct function *function, struct block *from, struct value *arg, const struct decider *decider)
{
    struct block *const *next = decider->block->next;
    int known = outcome(decider->condition, decider->phi, arg);
    from->next_count = 0;
    if (known >= 0)
        return add_way(function, from, next[known ? 0 : 1], decider);
    ir_remove(from->last);
    struct value *condition = arg;
    if (decider->condition) {
        const struct value *model = decider->condition;
        condition = ir_append(function, from, model->op, model->position, model->args, model->arg_count);
        condition->type = model->type;
        condition->uses = 1;
        for (size_t i = 0; i < condition->arg_count; i++) {
            if (condition->args[i] == decider->phi)
                condition->args[i] = arg;
            condition->args[i]->uses++;
        }
    } else {
        condition->uses++;
    }
    ir_append(function, from, IR_BRANCH, decider->branch->position, &condition, 1);
    add_way_between(function, from, next[0], decider);
    add_way_between(function, from, next[1], decider);
}

static void dissolve(struct function *function, const struct decider *decider)
{
    struct block *block = decider->block;
    for (size_t i = 0; i < block->predecessor_count; i++) {
        struct value *arg = ir_value(decider->phi->args[i]);
        arg->uses--;
        if (block->predecessors[i]->reachable)
            decide_in(function, block->predecessors[i], arg, decider);
    }
    for (size_t i = 0; decider->condition && i < decider->condition->arg_count; i++)
        ir_value(decider->condition->args[i])->uses--;
    block->reachable = false;
}

/* Takes up NEXT, which BLOCK alone leads to. */
static void append_block(struct block *block, struct block *next)
{
    ir_remove(block->last);
    for (struct value *value = next->first; value; value = value->next)
        value->block = block;
    next->first->previous = block->last;
    *(block->last ? &block->last->next : &block->first) = next->first;
    block->last = next->last;
    block->next_count = next->next_count;
    for (unsigned i = 0; i < next->next_count; i++) {
        struct block *after = block->next[i] = next->next[i];
        for (size_t n = 0; n < after->predecessor_count; n++)
            if (after->predecessors[n] == next)
                after->predecessors[n] = block;
    }
    next->first = next->last = NULL;
    next->next_count = 0;
    next->reachable = false;
}

/* Blocks of which one leads to the other only, and nobody else to that, become one. */
static bool append_blocks(struct block *block)
{
    bool any = false;
    for (;;) {
        struct block *next = block->last->op == IR_JUMP ? block->next[0] : NULL;
        if (!next || next == block || next->predecessor_count != 1 || next->is_header || next->first->op == IR_PHI ||
            next->loop != block->loop)
            return any;
        append_block(block, next);
        any = true;
    }
}

/* Branches on `not x` become branches on x. */
static bool turn_branch(struct block *block)
{
    struct value *branch = block->last, *condition = branch->op == IR_BRANCH ? ir_value(branch->args[0]) : NULL;
    if (!condition || condition->op != IR_NOT)
        return false;
    struct block *yes = block->next[0];
    branch->args[0] = ir_value(condition->args[0]);
    branch->args[0]->uses++;
    condition->uses--;
    block->next[0] = block->next[1];
    block->next[1] = yes;
    return true;
}

bool pass_jump_threading(struct function *function)
{
    bool any = false, dissolved = false;
    ir_count_uses(function);
    for (struct block *block = function->entry; block; block = block->following) {
        struct decider decider;
        if (!block->reachable)
            continue;
        dissolved |= append_blocks(block);
        while (turn_branch(block))
            any = true;
        if (!is_decider(block, &decider))
            continue;
        dissolve(function, &decider);
        dissolved = true;
    }
    if (dissolved)
        ir_dominators(function);
    return any || dissolved;
}
