/* Programs as lists of machine instructions whose registers are still virtual. */
#include "compile/machine/machine.h"

struct program *program_new(struct compiler *compiler, const char *name, uint32_t type, uint32_t attach_type)
{
    struct program *program = arena_allocate(&compiler->arena, sizeof *program);
    program->compiler = compiler;
    program->arena = &compiler->arena;
    program->name = name;
    program->type = type;
    program->attach_type = attach_type;
    machine_place(program, machine_block(program));
    return program;
}

struct operand operand_immediate(int64_t number)
{
    return (struct operand){.kind = OPERAND_IMMEDIATE, .number = number};
}

struct operand operand_register(struct reg *reg)
{
    return (struct operand){.kind = OPERAND_REGISTER, .reg = reg};
}

struct operand operand_slot(struct slot *slot, int64_t offset)
{
    return (struct operand){.kind = OPERAND_FRAME, .slot = slot, .number = offset};
}

struct operand operand_map(const char *name)
{
    return (struct operand){.kind = OPERAND_MAP, .symbol = name};
}

struct operand operand_data(const char *name, int64_t offset)
{
    return (struct operand){.kind = OPERAND_DATA, .symbol = name, .number = offset};
}

struct operand operand_function(const char *name)
{
    return (struct operand){.kind = OPERAND_FUNCTION, .symbol = name};
}

struct slot *program_slot(struct program *program, uint32_t size)
{
    struct slot *slot = arena_allocate(program->arena, sizeof *slot);
    slot->size = (size + 7) & ~7u;
    slot->number = program->slot_count++;
    slot->position = program->position;
    if (program->scratch && slot->number < program->scratch->count)
        slot->offset = program->scratch->offsets[slot->number];
    slot->moved = slot->offset > 0;
    slot->next = program->slots;
    program->slots = slot;
    return slot;
}

struct machine_block *machine_block(struct program *program)
{
    struct machine_block *block = arena_allocate(program->arena, sizeof *block);
    block->id = program->block_count++;
    return block;
}

void machine_place(struct program *program, struct machine_block *block)
{
    *(program->last ? &program->last->following : &program->entry) = block;
    program->last = block;
    program->block = block;
}

struct reg *machine_register(struct program *program, struct machine_instruction *definition)
{
    struct reg *reg = arena_allocate(program->arena, sizeof *reg);
    reg->id = program->register_count++;
    reg->definition = definition;
    reg->number = reg->hint = -1;
    reg->next = program->registers;
    program->registers = reg;
    return reg;
}

static struct machine_instruction *append(struct program *program, enum machine_op op, bool has_result)
{
    struct machine_instruction *instruction = arena_allocate(program->arena, sizeof *instruction);
    struct machine_block *block = program->block;
    instruction->op = op;
    instruction->position = program->position;
    instruction->block = block;
    instruction->previous = block->last;
    *(block->last ? &block->last->next : &block->first) = instruction;
    block->last = instruction;
    if (has_result)
        instruction->result = machine_register(program, instruction);
    return instruction;
}

struct operand machine_context(struct program *program)
{
    return operand_register(append(program, M_CONTEXT, true)->result);
}

static struct machine_instruction *memory(struct program *program, enum machine_op op, uint8_t size,
                                          struct operand base, int64_t offset)
{
    struct machine_instruction *instruction = append(program, op, op == M_LOAD || op == M_FETCH);
    instruction->size = size;
    instruction->a = base;
    instruction->offset = (int16_t)offset;
    return instruction;
}

static struct operand load(struct program *program, uint8_t size, struct operand base, int64_t offset)
{
    return operand_register(memory(program, M_LOAD, size, base, offset)->result);
}

/* Where memory at BASE begins and how far behind: scratch memory is reached through a register, loaded once between two
 * calls. */
static struct operand memory_base(struct program *program, struct operand base, int64_t *offset)
{
    if (base.kind != OPERAND_FRAME || !base.slot->moved)
        return base;
    if (program->scratch_block != program->block)
        program->scratch_address = load(program, BPF_DW, operand_slot(program->scratch_at, 0), 0);
    program->scratch_block = program->block;
    *offset += base.slot->offset + base.number;
    return program->scratch_address;
}

static struct operand alu(struct program *program, uint8_t code, bool wide, struct operand a, struct operand b)
{
    struct machine_instruction *instruction = append(program, M_ALU, true);
    instruction->code = code;
    instruction->wide = wide;
    instruction->a = a;
    instruction->b = b;
    return operand_register(instruction->result);
}

struct operand machine_address(struct program *program, struct operand address)
{
    int64_t offset = 0;
    struct operand base = memory_base(program, address, &offset);
    return offset ? alu(program, BPF_ADD, true, base, operand_immediate(offset)) : base;
}

struct operand machine_alu(struct program *program, uint8_t code, struct operand a, struct operand b)
{
    return alu(program, code, true, machine_address(program, a), b);
}

struct operand machine_alu32(struct program *program, uint8_t code, struct operand a, struct operand b)
{
    return alu(program, code, false, a, b);
}

struct operand machine_copy(struct program *program, struct operand a)
{
    a = machine_address(program, a);
    struct machine_instruction *instruction = append(program, M_COPY, true);
    instruction->a = a;
    return operand_register(instruction->result);
}

struct operand machine_load(struct program *program, uint8_t size, struct operand base, int64_t offset)
{
    base = memory_base(program, base, &offset);
    return load(program, size, base, offset);
}

void machine_store(struct program *program, uint8_t size, struct operand base, int64_t offset, struct operand value)
{
    base = memory_base(program, base, &offset);
    memory(program, M_STORE, size, base, offset)->b = value;
}

void machine_add_atomic(struct program *program, uint8_t size, struct operand base, int64_t offset,
                        struct operand value)
{
    base = memory_base(program, base, &offset);
    memory(program, M_ADD_ATOMIC, size, base, offset)->b = value;
}

static struct operand fetch(struct program *program, uint8_t code, struct operand base, int64_t offset,
                            struct operand value)
{
    struct machine_instruction *instruction = memory(program, M_FETCH, BPF_DW, base, offset);
    instruction->code = code;
    instruction->b = value;
    return operand_register(instruction->result);
}

struct operand machine_exchange(struct program *program, struct operand base, int64_t offset, struct operand value)
{
    return fetch(program, BPF_XCHG, base, offset, value);
}

struct operand machine_fetch_add(struct program *program, struct operand base, int64_t offset, struct operand value)
{
    return fetch(program, BPF_ADD | BPF_FETCH, base, offset, value);
}

static struct operand call(struct program *program, enum callee callee, const char *name, int32_t number,
                           const struct operand *args, size_t count)
{
    struct operand *addresses = arena_allocate(program->arena, (count + 1) * sizeof *args);
    for (size_t i = 0; i < count; i++)
        addresses[i] = machine_address(program, args[i]);
    struct machine_instruction *instruction = append(program, M_CALL, true);
    instruction->callee = callee;
    instruction->symbol = name;
    instruction->number = number;
    instruction->args = addresses;
    instruction->arg_count = count;
    program->scratch_block = NULL; /* the register would have to outlive the call */
    return operand_register(instruction->result);
}

struct operand machine_call(struct program *program, int32_t helper, const struct operand *args, size_t count)
{
    return call(program, CALL_HELPER, NULL, helper, args, count);
}

struct operand machine_call_pure(struct program *program, int32_t helper, const struct operand *args, size_t count)
{
    struct operand result = machine_call(program, helper, args, count);
    result.reg->definition->pure = true;
    return result;
}

struct operand machine_call_library(struct program *program, const char *name, const struct operand *args, size_t count)
{
    return call(program, CALL_LIBRARY, name, 0, args, count);
}

struct operand machine_call_kernel(struct program *program, const char *name, int btf_id, const struct operand *args,
                                   size_t count)
{
    return call(program, CALL_KERNEL, name, btf_id, args, count);
}

struct machine_instruction *machine_phi(struct program *program, struct machine_block *block)
{
    struct machine_instruction *phi = arena_allocate(program->arena, sizeof *phi);
    phi->op = M_PHI;
    phi->position = program->position;
    phi->block = block;
    phi->arg_count = block->predecessor_count;
    phi->args = arena_allocate(program->arena, phi->arg_count * sizeof *phi->args);
    phi->result = machine_register(program, phi);
    phi->next = block->first;
    *(block->first ? &block->first->previous : &block->last) = phi;
    block->first = phi;
    return phi;
}

struct operand machine_choose(struct program *program, struct machine_block *block, const struct machine_block *from,
                              struct operand a, struct operand b)
{
    struct machine_instruction *phi = machine_phi(program, block);
    for (size_t i = 0; i < phi->arg_count; i++)
        phi->args[i] = block->predecessors[i] == from ? a : b;
    return operand_register(phi->result);
}

static void connect(struct program *program, struct machine_block *to)
{
    struct machine_block *from = program->block;
    from->next[from->next_count++] = to;
    to->predecessors = arena_grow(program->arena, to->predecessors, to->predecessor_count, sizeof *to->predecessors);
    to->predecessors[to->predecessor_count++] = from;
}

void machine_jump(struct program *program, struct machine_block *to)
{
    append(program, M_JUMP, false);
    connect(program, to);
}

void machine_continue(struct program *program, struct machine_block *block)
{
    machine_jump(program, block);
    machine_place(program, block);
}

void machine_branch(struct program *program, uint8_t code, struct operand a, struct operand b,
                    struct machine_block *if_true, struct machine_block *if_false)
{
    struct machine_instruction *instruction = append(program, M_BRANCH, false);
    instruction->code = code;
    instruction->wide = true;
    instruction->a = a;
    instruction->b = b;
    connect(program, if_true);
    connect(program, if_false);
}

void machine_may_goto(struct program *program, struct machine_block *on, struct machine_block *enough)
{
    append(program, M_MAY_GOTO, false);
    connect(program, on);
    connect(program, enough);
}

void machine_exit(struct program *program, int64_t result)
{
    if (program->has_scratch) { /* gives it back */
        struct operand piece = machine_load(program, BPF_DW, operand_slot(program->scratch_at, 0), 0);
        machine_store(program, BPF_DW, piece, 0, operand_immediate(0));
    }
    append(program, M_EXIT, false)->a = operand_immediate(result);
}

void machine_visit(struct machine_instruction *instruction, void (*visit)(struct operand *, void *), void *context)
{
    visit(&instruction->a, context);
    visit(&instruction->b, context);
    for (size_t i = 0; i < instruction->arg_count; i++)
        visit(&instruction->args[i], context);
}

void machine_unlink(struct machine_instruction *instruction)
{
    struct machine_block *block = instruction->block;
    *(instruction->previous ? &instruction->previous->next : &block->first) = instruction->next;
    *(instruction->next ? &instruction->next->previous : &block->last) = instruction->previous;
}
