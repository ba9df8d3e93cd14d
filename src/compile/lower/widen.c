/*
 * Widening: hides from the verifier what it knows of values. It follows every way through a program, with what it knows
 * on each: where a value may be nil it knows which of both it is, and remembers. A handler that reads twenty such
 * values and asks for them afterwards has 2^20 ways, of which the kernel gives up after a million instructions. So
 * where there are more than a few, each is combined with a zero of which the verifier knows nothing: from there on
 * there is one way for both. The same is done to what a round of a loop begins with.
 *
 * Behind a loop, what nobody will need to be a certain number does not keep two ways apart. Inside of one it does: the
 * verifier asks whether all that it knows of a round, of all registers and the whole frame, held in a round before.
 * Each branch on a value that stays live, and each constant stored on only one path, doubles the number of verifier
 * states. So does even a copy of a word, which the verifier takes for the same number from then on. Six of these took
 * 255,438 instructions, and strings instead of numbers more than the million. Loops with more than a few branches are
 * therefore widened as a whole: branches test widened copies (widen_in_loop), numbers are widened where edges meet
 * (widen_value), and values that are stored in the frame are always widened (memory_put). That makes 745 of the
 * 255,438.
 */
#include "compile/lower/lower.h"

enum {
    FEW = 4,          /* 16 ways through the rest of the handler are no loss */
    FEW_IN_LOOPS = 8, /* 256 ways through a round */
};

/* True if VALUE has a place that says, as 0 or 1, which of two it is. */
static bool is_either(const struct value *value)
{
    if (value->type.kind == TYPE_BOOLEAN)
        return value->op != IR_EQ && value->op != IR_LT && value->op != IR_LE && value->op != IR_TRUTH;
    return value->type.optional && value->type.kind != TYPE_RECORD && value->op != IR_ABSENT;
}

/* True if USE decides by what ARG is; those that pass it on do not. */
static bool decides(const struct value *use)
{
    return use->op != IR_PRESENT && use->op != IR_ABSENT && use->op != IR_PHI;
}

static bool decides_often_in_loops(const struct function *function)
{
    size_t count = 0;
    for (const struct block *block = function->entry; block; block = block->following)
        count += block->loop && block->last->op == IR_BRANCH;
    return count > FEW_IN_LOOPS;
}

/* True if USE, of ARG's block, follows ARG with nothing in between that may be one of two: that adds no path later. */
static bool is_tested_at_once(const struct value *arg, const struct value *use)
{
    for (const struct value *between = arg->next; between && between != use; between = between->next)
        if (is_either(between))
            return false;
    return true;
}

/* All that says which of two it is: returns how many. */
static size_t find_all(const struct function *function, bool *widened)
{
    size_t count = 0;
    for (const struct block *block = function->entry; block; block = block->following)
        for (const struct value *value = block->first; value; value = value->next)
            count += widened[value->id] = is_either(value);
    return count;
}

/* Of these what is decided on later. */
static size_t find_decided(const struct function *function, bool *widened)
{
    size_t count = 0;
    for (const struct block *block = function->entry; block; block = block->following)
        for (const struct value *use = block->first; use; use = use->next)
            for (size_t i = 0; i < use->arg_count; i++) {
                const struct value *arg = ir_value(use->args[i]);
                if (!arg->block || !is_either(arg) || !decides(use) || widened[arg->id] ||
                    (arg->block == block && is_tested_at_once(arg, use)))
                    continue;
                widened[arg->id] = true;
                count++;
            }
    return count;
}

void widen_find(struct lower *lower)
{
    const struct function *function = lower->function;
    bool *widened = arena_allocate(function->arena, function->value_count * sizeof *widened);
    lower->widens_loops = decides_often_in_loops(function);
    bool any = lower->widens_loops ? find_all(function, widened) > 0 : find_decided(function, widened) > FEW;
    lower->widened = any ? widened : NULL;
}

bool widen_hides(const struct lower *lower, const struct value *value)
{
    return lower->widened && lower->widened[value->id];
}

void widen_start(struct lower *lower)
{
    struct program *program = lower->program;
    if (program->any_zero)
        return;
    struct operand zero = machine_load(program, BPF_DW, machine_copy(program, operand_data(ZERO_COUNTERS, 0)), 0);
    program->any_zero = program_slot(program, 8);
    machine_store(program, BPF_DW, operand_slot(program->any_zero, 0), 0, zero);
}

struct operand widen_number(struct lower *lower, struct operand number)
{
    struct operand zero = machine_load(lower->program, BPF_DW, operand_slot(lower->program->any_zero, 0), 0);
    return machine_alu(lower->program, BPF_XOR, zero, number);
}

struct operand widen_in_loop(struct lower *lower, struct operand number)
{
    bool known = number.kind == OPERAND_REGISTER || number.kind == OPERAND_IMMEDIATE;
    return lower->in_loop && known ? widen_number(lower, number) : number;
}

static bool is_number(struct type type)
{
    return type.kind == TYPE_BOOLEAN || type.kind == TYPE_NUM || type.kind == TYPE_I64 || type.kind == TYPE_U64 ||
           type.kind == TYPE_STACK;
}

void widen_value(struct lower *lower, struct value *value)
{
    struct place *place = lower_place(lower, value);
    bool hides = widen_hides(lower, value);
    bool met = lower->in_loop && value->op == IR_PHI && !value->block->is_header && is_number(value->type);
    if ((met || (hides && value->type.kind == TYPE_BOOLEAN)) && place->value.kind == OPERAND_REGISTER)
        place->value = widen_number(lower, place->value);
    if (!hides || place->present.kind != OPERAND_REGISTER)
        return;
    place->present = widen_number(lower, place->present);
    if (value->type.kind == TYPE_POINTER) /* one operand is both */
        place->value = place->present;
}
