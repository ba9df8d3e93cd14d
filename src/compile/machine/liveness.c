/* Liveness: the registers that are used after the block that sets them, as sets of bits, by data flow from the last
 * block to the first. */
#include "compile/machine/machine.h"

#include <string.h>

static void set_bit(uint64_t *set, unsigned i, bool on)
{
    set[i / 64] = (set[i / 64] & ~(UINT64_C(1) << i % 64)) | (uint64_t)on << i % 64;
}

static void live_use(struct operand *operand, void *set)
{
    if (operand->kind == OPERAND_REGISTER && operand->reg->live)
        set_bit(set, operand->reg->live - 1, true);
}

/* The registers that are live at BLOCK's end: those that are live at its successors' starts, and the arguments of their
 * phis from here. */
static void live_at_end(struct machine_block *block, uint64_t *set, size_t words)
{
    for (unsigned n = 0; n < block->next_count; n++) {
        struct machine_block *next = block->next[n];
        for (size_t w = 0; w < words; w++)
            set[w] |= next->live_in[w];
        for (struct machine_instruction *phi = next->first; phi && phi->op == M_PHI; phi = phi->next)
            for (size_t i = 0; i < next->predecessor_count; i++)
                if (next->predecessors[i] == block)
                    live_use(&phi->args[i], set);
    }
}

struct leaving {
    struct program *program;
    const struct machine_block *block;
};

/* Most registers are wanted in their own block only: the sets are of the others. */
static void note_leaving(struct operand *operand, void *context)
{
    const struct leaving *leaving = context;
    struct program *program = leaving->program;
    struct reg *reg = operand->reg;
    if (operand->kind != OPERAND_REGISTER || reg->live || reg->definition->block == leaving->block)
        return;
    program->live = arena_grow(program->arena, program->live, program->live_count, sizeof reg);
    program->live[program->live_count++] = reg;
    reg->live = program->live_count;
}

static void find_leaving(struct program *program)
{
    program->live = NULL;
    program->live_count = 0;
    for (struct reg *reg = program->registers; reg; reg = reg->next)
        reg->live = 0;
    for (struct machine_block *block = program->entry; block; block = block->following)
        for (struct machine_instruction *i = block->first; i; i = i->next)
            /* a phi wants its values in the blocks before */
            machine_visit(i, note_leaving, &(struct leaving){program, i->op == M_PHI ? NULL : block});
}

static bool find_live_in(struct machine_block *block, uint64_t *live, size_t words)
{
    memset(live, 0, words * sizeof *live);
    live_at_end(block, live, words);
    memcpy(block->live_out, live, words * sizeof *live);
    for (struct machine_instruction *i = block->last; i; i = i->previous) {
        if (i->result && i->result->live)
            set_bit(live, i->result->live - 1, false);
        if (i->op != M_PHI)
            machine_visit(i, live_use, live);
    }
    bool changed = memcmp(live, block->live_in, words * sizeof *live);
    memcpy(block->live_in, live, words * sizeof *live);
    return changed;
}

void program_find_liveness(struct program *program)
{
    find_leaving(program);
    size_t words = program->live_count / 64 + 1, count = 0;
    struct machine_block **blocks = arena_allocate(program->arena, program->block_count * sizeof *blocks);
    for (struct machine_block *block = program->entry; block; block = block->following) {
        block->live_in = arena_allocate(program->arena, words * sizeof *block->live_in);
        block->live_out = arena_allocate(program->arena, words * sizeof *block->live_out);
        blocks[count++] = block;
    }
    uint64_t *live = arena_allocate(program->arena, words * sizeof *live);
    bool changed;
    do { /* once per nesting of loops, plus one: a handful at most */
        changed = false;
        for (size_t n = count; n-- > 0;)
            changed |= find_live_in(blocks[n], live, words);
    } while (changed);
}
