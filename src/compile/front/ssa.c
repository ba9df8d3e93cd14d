/*
 * What a slot of the Lua frame holds where: looked up through the predecessors, with a phi where they differ (M. Braun
 * et al., Simple and Efficient Construction of Static Single Assignment Form, CC 2013). All predecessors of a block are
 * complete when it is built, except those of a loop's header. A header has a phi for each slot that a round may change;
 * every back edge gives the phi one more argument.
 */
#include "compile/front/build.h"

/* True for the first block of the handler or of an inlined function: the slots of the caller are not its own. */
static bool begins_frame(const struct block *block)
{
    return !block->predecessor_count || block->predecessors[0]->frame != block->frame;
}

static struct value *read_slot(struct build *build, struct block *block, unsigned slot)
{
    if (block->slots[slot])
        return ir_value(block->slots[slot]);
    struct value *value;
    if (block->inherits) {
        value = read_slot(build, block->inherits, slot);
    } else if (begins_frame(block)) {
        value = ir_nil(build->function);
    } else if (block->is_header) { /* no round changes it */
        value = read_slot(build, block->predecessors[0], slot);
    } else {
        value = read_slot(build, block->predecessors[0], slot);
        bool same = true;
        for (size_t i = 1; i < block->predecessor_count; i++)
            same &= read_slot(build, block->predecessors[i], slot) == value;
        if (!same) {
            struct value *phi = ir_phi(build->function, block, build->position);
            for (size_t i = 0; i < block->predecessor_count; i++)
                phi->args[i] = read_slot(build, block->predecessors[i], slot);
            value = phi;
        }
    }
    block->slots[slot] = value;
    return value;
}

struct value *build_peek(const struct block *block, unsigned slot)
{
    for (;;) {
        if (block->slots[slot])
            return ir_value(block->slots[slot]);
        if (block->inherits)
            block = block->inherits;
        else if (begins_frame(block))
            return NULL;
        else if (block->predecessor_count == 1 || block->is_header)
            block = block->predecessors[0];
        else
            return NULL;
    }
}

/* LuaJIT's frame has two more slots than it says: of the call frame itself. */
static void check_slot(struct build *build, unsigned slot)
{
    if (slot >= build->frame->bytecode->frame_size + 2u)
        build_fail(build, "corrupt bytecode: a slot outside of the frame");
}

struct value *build_read(struct build *build, unsigned slot)
{
    check_slot(build, slot);
    return read_slot(build, build->block, slot);
}

void build_write(struct build *build, unsigned slot, struct value *value)
{
    check_slot(build, slot);
    build->block->slots[slot] = value;
    build->frame->names[slot] = bytecode_variable(build->frame->bytecode, (uint8_t)slot, build->pc + 1);
}

struct block *build_new_block(struct build *build)
{
    struct block *block = ir_block(build->function);
    block->frame = build->frame;
    block->slots =
        arena_allocate(build->arena, ((size_t)build->frame->bytecode->frame_size + 2) * sizeof *block->slots);
    return block;
}

void build_jump_to(struct build *build, struct block *block)
{
    build_value(build, IR_JUMP, NULL, 0);
    ir_connect(build->block, block, build->function);
    build->block = NULL;
}

void build_continue(struct build *build, struct block *block)
{
    struct function *function = build->function;
    *(function->last ? &function->last->following : &function->entry) = block;
    function->last = block;
    block->loop = build->loop;
    build->block = block;
}

void build_start_loop(struct build *build, struct loop *loop)
{
    struct block *header = build_new_block(build), *before = build->block;
    build_jump_to(build, header);
    header->is_header = true;
    loop->header = header;
    loop->outer = build->loop;
    build->loop = loop;
    build_continue(build, header);
    for (unsigned slot = 0; slot < build->frame->bytecode->frame_size + 2u; slot++) {
        if (!loop->written[slot])
            continue;
        struct value *initial = read_slot(build, before, slot);
        loop->phis[slot] = ir_phi(build->function, header, build->position);
        loop->phis[slot]->args[0] = initial;
        header->slots[slot] = loop->phis[slot];
    }
    if (!loop->numeric && !loop->marked)
        build_value(build, IR_LOOP, NULL, 0);
}

void build_jump_back(struct build *build, struct loop *loop)
{
    for (unsigned slot = 0; slot < build->frame->bytecode->frame_size + 2u; slot++) {
        struct value *phi = loop->phis[slot];
        if (!phi)
            continue;
        phi->args = arena_grow(build->arena, phi->args, phi->arg_count, sizeof *phi->args);
        phi->args[phi->arg_count++] = read_slot(build, build->block, slot);
    }
    build_jump_to(build, loop->header);
}
