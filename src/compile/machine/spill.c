/*
 * Moves operands to where an instruction takes them: constants and addresses into registers, registers that found no
 * place into the frame and back. This needs short-lived registers, which cannot be spilled again.
 */
#include "compile/machine/machine.h"

static struct reg *new_tiny(struct program *program, struct machine_instruction *definition)
{
    struct reg *reg = machine_register(program, definition);
    reg->tiny = !program->early;
    return reg;
}

static struct machine_instruction *insert_before(struct program *program, struct machine_instruction *at,
                                                 enum machine_op op)
{
    struct machine_instruction *instruction = arena_allocate(program->arena, sizeof *instruction);
    instruction->op = op;
    instruction->size = BPF_DW;
    instruction->position = at->position;
    instruction->block = at->block;
    instruction->next = at;
    instruction->previous = at->previous;
    *(at->previous ? &at->previous->next : &at->block->first) = instruction;
    at->previous = instruction;
    return instruction;
}

static bool fits_immediate(const struct operand *operand)
{
    return operand->kind == OPERAND_IMMEDIATE && operand->number == (int32_t)operand->number;
}

/* Brings OPERAND into a register in front of AT. */
static void to_register(struct program *program, struct machine_instruction *at, struct operand *operand)
{
    struct machine_instruction *copy = insert_before(program, at, M_COPY);
    copy->a = *operand;
    copy->result = new_tiny(program, copy);
    *operand = operand_register(copy->result);
}

/* The comparison that says of b and a what CODE says of a and b; 0 where there is none. */
static uint8_t mirrored(uint8_t code)
{
    static const uint8_t pairs[][2] = {{BPF_JEQ, BPF_JEQ}, {BPF_JNE, BPF_JNE},   {BPF_JLT, BPF_JGT},
                                       {BPF_JLE, BPF_JGE}, {BPF_JSLT, BPF_JSGT}, {BPF_JSLE, BPF_JSGE}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] == code)
            return pairs[i][1];
    return 0;
}

/* Constants stand on the right, where the instruction holds them. */
static void put_constant_right(struct machine_instruction *i)
{
    bool commutes = i->op == M_ALU && (i->code == BPF_ADD || i->code == BPF_MUL || i->code == BPF_AND ||
                                       i->code == BPF_OR || i->code == BPF_XOR);
    uint8_t code = i->op == M_BRANCH ? mirrored(i->code) : commutes ? i->code : 0;
    if (i->a.kind != OPERAND_IMMEDIATE || i->b.kind != OPERAND_REGISTER || !(code || commutes))
        return;
    struct operand constant = i->a;
    i->a = i->b;
    i->b = constant;
    i->code = code;
}

/* BPF takes registers and 32-bit immediates as second operands, and addresses in registers or the frame. */
void program_legalise(struct program *program)
{
    for (struct machine_block *block = program->entry; block; block = block->following)
        for (struct machine_instruction *i = block->first; i; i = i->next) {
            put_constant_right(i);
            bool addresses = i->op == M_LOAD || i->op == M_STORE || i->op == M_ADD_ATOMIC || i->op == M_FETCH;
            if (addresses && i->a.kind != OPERAND_REGISTER && i->a.kind != OPERAND_FRAME)
                to_register(program, i, &i->a);
            if (i->op == M_BRANCH && i->a.kind != OPERAND_REGISTER)
                to_register(program, i, &i->a);
            bool second = i->op == M_ALU || i->op == M_STORE || i->op == M_ADD_ATOMIC || i->op == M_BRANCH;
            if (second && i->b.kind != OPERAND_REGISTER && (i->op == M_ADD_ATOMIC || !fits_immediate(&i->b)))
                to_register(program, i, &i->b);
        }
}

struct reload {
    struct program *program;
    struct machine_instruction *before;
};

static void reload_operand(struct operand *operand, void *context)
{
    struct reload *reload = context;
    if (operand->kind != OPERAND_REGISTER || !operand->reg->spilled)
        return;
    struct machine_instruction *load = insert_before(reload->program, reload->before, M_LOAD);
    load->a = operand_slot(operand->reg->spilled, 0);
    load->result = new_tiny(reload->program, load);
    *operand = operand_register(load->result);
}

static void store_before(struct program *program, struct machine_instruction *at, struct slot *slot,
                         struct operand value)
{
    struct machine_instruction *store = insert_before(program, at, M_STORE);
    store->a = operand_slot(slot, 0);
    store->b = value;
    if (value.kind != OPERAND_REGISTER && !fits_immediate(&value))
        to_register(program, store, &store->b);
}

static void spill_instruction(struct program *program, struct machine_instruction *i)
{
    machine_visit(i, reload_operand, &(struct reload){program, i});
    if (!i->result || !i->result->spilled)
        return;
    struct slot *slot = i->result->spilled;
    i->result = new_tiny(program, i);
    store_before(program, i->next, slot, operand_register(i->result));
}

/* True if OPERAND lies where a phi of BLOCK is to be stored. */
static bool is_overwritten(const struct machine_block *block, const struct operand *operand)
{
    if (operand->kind != OPERAND_REGISTER || !operand->reg->spilled)
        return false;
    for (const struct machine_instruction *phi = block->first; phi && phi->op == M_PHI; phi = phi->next)
        if (phi->result == operand->reg)
            return true;
    return false;
}

/* The phis of a block happen at once: what one of them overwrites is loaded before any is stored. */
static void spill_phis(struct program *program, struct machine_block *block)
{
    struct machine_instruction *next;
    for (struct machine_instruction *phi = block->first; phi && phi->op == M_PHI; phi = phi->next)
        for (size_t n = 0; n < phi->arg_count; n++)
            if (!phi->result->spilled || is_overwritten(block, &phi->args[n]))
                reload_operand(&phi->args[n], &(struct reload){program, block->predecessors[n]->last});
    for (struct machine_instruction *phi = block->first; phi && phi->op == M_PHI; phi = next) {
        next = phi->next;
        if (!phi->result->spilled)
            continue;
        for (size_t n = 0; n < phi->arg_count; n++) {
            reload_operand(&phi->args[n], &(struct reload){program, block->predecessors[n]->last});
            store_before(program, block->predecessors[n]->last, phi->result->spilled, phi->args[n]);
        }
        machine_unlink(phi);
    }
}

void program_spill(struct program *program, bool early)
{
    program->early = early;
    for (struct machine_block *block = program->entry; block; block = block->following) {
        spill_phis(program, block);
        for (struct machine_instruction *i = block->first, *next; i; i = next) {
            next = i->next;
            if (i->op != M_PHI)
                spill_instruction(program, i);
        }
    }
    /* Spilled registers are used nowhere any more. */
    for (struct reg **link = &program->registers; *link;) {
        if ((*link)->spilled)
            *link = (*link)->next;
        else
            link = &(*link)->next;
    }
    program->early = false;
}
