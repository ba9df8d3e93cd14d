/* Takes out of a program what nothing leads to and what nobody needs. */
#include "compile/machine/machine.h"

static void mark_reachable(struct machine_block *block)
{
    for (; !block->start; block = block->next[block->next_count - 1]) {
        block->start = 1;
        if (!block->next_count)
            return;
        if (block->next_count == 2)
            mark_reachable(block->next[0]);
    }
}

static bool holds(uint8_t code, int64_t a, int64_t b)
{
    switch (code) {
    case BPF_JEQ:
        return a == b;
    case BPF_JNE:
        return a != b;
    case BPF_JLT:
        return (uint64_t)a < (uint64_t)b;
    case BPF_JLE:
        return (uint64_t)a <= (uint64_t)b;
    case BPF_JSLT:
        return a < b;
    case BPF_JSET:
        return (a & b) != 0;
    default:
        return a <= b; /* BPF_JSLE: the lowering uses no others */
    }
}

/* Branches on constants become jumps; what cannot be reached any more goes, since the verifier refuses it. */
static void prune(struct program *program)
{
    for (struct machine_block *block = program->entry; block; block = block->following) {
        struct machine_instruction *end = block->last;
        block->start = 0;
        if (!end || end->op != M_BRANCH || end->a.kind != OPERAND_IMMEDIATE || end->b.kind != OPERAND_IMMEDIATE)
            continue;
        block->next[0] = block->next[holds(end->code, end->a.number, end->b.number) ? 0 : 1];
        block->next_count = 1;
        end->op = M_JUMP;
    }
    mark_reachable(program->entry);
    for (struct machine_block **link = &program->entry, *block; (block = *link);) {
        if (block->start)
            link = &block->following;
        else
            *link = block->following;
    }
    for (struct machine_block *block = program->entry; block; block = block->following) {
        size_t kept = 0;
        for (size_t i = 0; i < block->predecessor_count; i++) {
            struct machine_block *from = block->predecessors[i];
            bool comes = from->start && (from->next[0] == block || (from->next_count == 2 && from->next[1] == block));
            if (!comes)
                continue;
            block->predecessors[kept] = from;
            for (struct machine_instruction *phi = block->first; phi && phi->op == M_PHI; phi = phi->next)
                phi->args[kept] = phi->args[i];
            kept++;
        }
        block->predecessor_count = kept;
        for (struct machine_instruction *phi = block->first; phi && phi->op == M_PHI; phi = phi->next)
            phi->arg_count = kept;
    }
}

/* Adds *MORE to the uses of OPERAND, if it is a register. */
static void count_use(struct operand *operand, void *more)
{
    if (operand->kind == OPERAND_REGISTER)
        operand->reg->uses += *(unsigned *)more;
}

static bool is_removable(const struct machine_instruction *instruction)
{
    return instruction->op == M_COPY || instruction->op == M_ALU || instruction->op == M_LOAD ||
           instruction->op == M_PHI || (instruction->op == M_CALL && instruction->pure);
}

static void drop_unused(struct program *program)
{
    unsigned one = 1, less = -1u;
    for (struct reg *reg = program->registers; reg; reg = reg->next)
        reg->uses = 0;
    for (struct machine_block *block = program->entry; block; block = block->following)
        for (struct machine_instruction *i = block->first; i; i = i->next)
            machine_visit(i, count_use, &one);
    bool dropped;
    do {
        dropped = false;
        for (struct machine_block *block = program->entry; block; block = block->following)
            for (struct machine_instruction *i = block->last, *previous; i; i = previous) {
                previous = i->previous;
                if (!is_removable(i) || i->result->uses)
                    continue;
                machine_visit(i, count_use, &less);
                machine_unlink(i);
                dropped = true;
            }
    } while (dropped);
}

void program_drop_dead(struct program *program)
{
    prune(program);
    drop_unused(program);
}
