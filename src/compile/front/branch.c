/* Branches: what is known on each of the two ways; those on constants are decided here, so that code behind a captured
 * `false` is not even looked at. */
#include "compile/front/build.h"

#include "compile/infer/infer.h"
#include "compile/ir/fold.h"

struct block *build_block_at(struct build *build, uint32_t pc)
{
    struct frame *frame = build->frame;
    if (pc >= frame->bytecode->instruction_count)
        build_fail(build, "corrupt bytecode: a jump out of the function");
    if (!frame->starts[pc])
        frame->starts[pc] = build_new_block(build);
    return frame->starts[pc];
}

void build_jump(struct build *build, uint32_t target)
{
    if (target <= build->pc) {
        struct loop *loop = build->frame->loops[target];
        if (!loop || !loop->header || loop->numeric)
            build_fail(build, "a handler cannot jump back into a block");
        return build_jump_back(build, loop);
    }
    build_jump_to(build, build_block_at(build, target));
}

/* The knowledge that a branch gives of a value on one of its edges. */
struct knowledge {
    struct value *tested; /* NULL: nothing */
    enum ir_op op;        /* IR_PRESENT, IR_ABSENT */
    int copy_to;          /* slot that receives the tested value on this way, or -1 */
};

static void edge(struct build *build, struct block *from, uint32_t target, struct knowledge known)
{
    struct block *block = build_new_block(build);
    ir_connect(from, block, build->function);
    build_continue(build, block);
    if (known.tested) {
        struct value *value = known.tested;
        if (value->op != IR_CONSTANT && known.op)
            value = build_value(build, known.op, &known.tested, 1);
        for (unsigned slot = 0; slot < build->frame->bytecode->frame_size; slot++)
            if (build_peek(from, slot) == known.tested)
                block->slots[slot] = value;
        if (known.copy_to >= 0)
            build_write(build, (unsigned)known.copy_to, value);
    }
    build_jump(build, target);
}

static void branch(struct build *build, struct value *condition, uint32_t if_true, struct knowledge when_true,
                   uint32_t if_false, struct knowledge when_false)
{
    int known = fold_truth(condition);
    if (known >= 0) {
        struct knowledge way = known ? when_true : when_false;
        if (way.tested && way.copy_to >= 0)
            build_write(build, (unsigned)way.copy_to, way.tested);
        build_jump(build, known ? if_true : if_false);
        return;
    }
    struct block *from = build->block;
    build_value(build, IR_BRANCH, &condition, 1);
    edge(build, from, if_true, when_true);
    edge(build, from, if_false, when_false);
}

void build_branch(struct build *build, struct value *condition, uint32_t if_true, uint32_t if_false)
{
    branch(build, condition, if_true, (struct knowledge){0}, if_false, (struct knowledge){0});
}

/* The instruction behind a comparison is the JMP that is taken where it holds; returns its target. */
static uint32_t taken(struct build *build)
{
    const struct bytecode *bytecode = build->frame->bytecode;
    const struct instruction *next = &bytecode->instructions[build->pc + 1];
    if (build->pc + 2 >= bytecode->instruction_count || next->op != BYTECODE_JMP)
        build_fail(build, "corrupt bytecode: a comparison without its jump");
    return build->pc + 2 + next->d - 0x8000u;
}

struct value *build_comparison(struct build *build, enum ir_op op, struct value *a, struct value *b)
{
    int known = fold_compare(op, a, b);
    if (known >= 0)
        return ir_boolean(build->function, known);
    return build_value(build, op, (struct value *[]){a, b}, 2);
}

void build_compare(struct build *build, enum ir_op op, struct value *a, struct value *b, bool negated)
{
    uint32_t yes = taken(build), no = build->pc + 2;
    struct value *condition = build_comparison(build, op, a, b);
    struct knowledge equal = {0}, unequal = {0};
    struct value *nil = ir_nil(build->function);
    if (op == IR_EQ && (a == nil || b == nil)) {
        equal = (struct knowledge){a == nil ? b : a, IR_ABSENT, -1};
        unequal = (struct knowledge){a == nil ? b : a, IR_PRESENT, -1};
    }
    branch(build, condition, negated ? no : yes, equal, negated ? yes : no, unequal);
}

/* True if INSTRUCTION leaves in SLOT what the value there is to be, by a test: of that slot, or one that copies. */
static bool decides_slot(const struct instruction *instruction, unsigned slot)
{
    bool tests = instruction->op == BYTECODE_IST || instruction->op == BYTECODE_ISF;
    return build_writes(instruction, slot) || (tests && instruction->d == slot);
}

/*
 * True if SLOT, tested where it jumps to YES, is the result there: `c and a or b` tests a for what it is in Lua; that
 * it is always true is no mistake. B comes into the same slot just before, where it may be a test itself: one of the
 * same slot in `a = c and (d and a or a) or a`.
 */
static bool goes_on(const struct build *build, uint32_t yes, unsigned slot)
{
    const struct instruction *instructions = build->frame->bytecode->instructions;
    return yes > build->pc &&
           (build_writes(&instructions[yes - 1], slot) ||
            (yes > 1 && instructions[yes - 1].op == BYTECODE_JMP && decides_slot(&instructions[yes - 2], slot)));
}

void build_test(struct build *build, const struct instruction *instruction, bool jump_if_true, bool copy)
{
    struct value *value = build_read(build, instruction->d);
    refuse_reading(build->compiler, build->position, value);
    uint32_t yes = taken(build), no = build->pc + 2;
    int known = fold_truth(value);
    struct value *condition = known >= 0 ? ir_boolean(build->function, known) : build_value(build, IR_TRUTH, &value, 1);
    condition->goes_on = copy || yes == no || goes_on(build, yes, instruction->d);
    int slot = copy ? instruction->a : -1;
    struct knowledge truthy = {value, IR_PRESENT, jump_if_true ? slot : -1};
    struct knowledge falsy = {value, IR_ABSENT, jump_if_true ? -1 : slot};
    branch(build, condition, jump_if_true ? yes : no, truthy, jump_if_true ? no : yes, falsy);
}
