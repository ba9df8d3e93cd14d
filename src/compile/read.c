/* Reading the memory that is traced: the process's, or for the kernel's own probes the kernel's. */
#include "compile/read.h"

#include "compile/access.h"

/*
 * Copies SIZE bytes at ADDRESS to SLOT; the result is 0 if they could be read. Where the probe may sleep (uprobes:
 * Linux 6.0), pages that the process has not touched yet are brought in.
 */
static struct operand copy_memory(struct lower *lower, struct slot *slot, uint32_t size, struct operand address)
{
    const struct probe_kind *kind = probe_kind_of(lower->function->handler->kind);
    int32_t helper = kind->kernel_memory ? BPF_FUNC_probe_read_kernel
                     : kind->sleeps      ? BPF_FUNC_copy_from_user : BPF_FUNC_probe_read_user;
    struct operand args[] = { operand_slot(slot, 0), operand_immediate(size), address };
    lower->program->sleepable |= helper == BPF_FUNC_copy_from_user;
    return machine_call(lower->program, helper, args, 3);
}

/*
 * The BITS bits (negative: signed) from bit SHIFT of the byte at ADDRESS on. Goes to FAILED where they cannot be read,
 * which is counted.
 */
static struct operand read_number(struct lower *lower, struct operand address, int bits, int shift,
                                  struct machine_block *failed)
{
    static const uint8_t sizes[] = { [1] = BPF_B, [2] = BPF_H, [4] = BPF_W, [8] = BPF_DW };
    struct program *program = lower->program;
    struct slot *slot = program_slot(program, 8);
    int width = bits < 0 ? -bits : bits, bytes = (shift + width + 7) / 8;
    bool whole = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
    if (!whole)
        machine_store(program, BPF_DW, operand_slot(slot, 0), 0, operand_immediate(0));
    struct operand result = copy_memory(lower, slot, (uint32_t)bytes, address);
    unsigned entry = lower_ledger(lower, "unreadable memory read as nil");
    lower_continue_if(lower, BPF_JEQ, result, operand_immediate(0), lower_loss(lower, entry, failed, 0));
    struct operand word = machine_load(program, whole ? sizes[bytes] : BPF_DW, operand_slot(slot, 0), 0);
    if (bits > 0 && !shift && width == 8 * bytes)
        return word;
    if (shift + width < 64)
        word = machine_alu(program, BPF_LSH, word, operand_immediate(64 - shift - width));
    return width < 64 ? machine_alu(program, bits < 0 ? BPF_ARSH : BPF_RSH, word, operand_immediate(64 - width)) : word;
}

/* Ends the block at JOIN and goes on there: NUMBER where control comes from here, 0 on all other ways. */
static struct operand join_number(struct lower *lower, struct machine_block *join, struct operand number)
{
    struct program *program = lower->program;
    struct machine_block *here = program->block;
    machine_jump(program, join);
    machine_place(program, join);
    if (join->predecessor_count == 1)
        return number;
    struct machine_instruction *phi = machine_phi(program, join);
    for (size_t i = 0; i < join->predecessor_count; i++)
        phi->args[i] = join->predecessors[i] == here ? number : operand_immediate(0);
    return operand_register(phi->result);
}

/* … and whether it came from here, where NUMBER itself does not tell. */
static struct operand join_presence(struct lower *lower, const struct machine_block *join,
                                    const struct machine_block *here)
{
    struct machine_instruction *phi = machine_phi(lower->program, lower->program->block);
    for (size_t i = 0; i < join->predecessor_count; i++)
        phi->args[i] = operand_immediate(join->predecessors[i] == here);
    return operand_register(phi->result);
}

void read_address(struct lower *lower, struct value *value)
{
    struct place *place = lower_place(lower, value);
    struct operand address = lower_number(lower, value->args[0]);
    struct machine_block *join = machine_block(lower->program);
    struct operand number = read_number(lower, address, (int)value->number, 0, join);
    const struct machine_block *here = lower->program->block;
    place->value = join_number(lower, join, number);
    place->present = join_presence(lower, join, here);
}

/* BASE plus INDEX elements; an index outside of the declared array is counted and goes to FAILED. */
static struct operand element_address(struct lower *lower, const struct access *access, struct operand base,
                                      struct operand index, struct machine_block *failed)
{
    struct program *program = lower->program;
    if (access->bound) {
        const char *cause = arena_format(program->arena, "an index outside of '%s' read as nil", access->array);
        lower_continue_if(lower, BPF_JLT, index, operand_immediate((int64_t)access->bound),
                          lower_loss(lower, lower_ledger(lower, cause), failed, 0));
    }
    if (access->stride != 1)
        index = machine_alu(program, BPF_MUL, index, operand_immediate((int64_t)access->stride));
    return machine_alu(program, BPF_ADD, base, index);
}

void read_access(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    const struct access *access = value->access;
    const struct place *base = lower_place(lower, value->args[0]);
    struct place *place = lower_place(lower, value);
    struct machine_block *join = machine_block(program);
    struct operand index = value->arg_count > 1 ? lower_number(lower, value->args[1]) : (struct operand){ 0 };
    struct operand found = base->value;
    struct slot *text = value->type.kind == TYPE_STRING ? program_slot(program, value->type.capacity) : NULL;
    if (text)
        memory_zero(lower, operand_slot(text, 0), 0, text->size);
    if (base->present.kind)
        lower_continue_if(lower, BPF_JNE, base->value, operand_immediate(0), lower_way(lower, join));
    if (index.kind)
        found = element_address(lower, access, found, index, join);
    if (access->offset)
        found = machine_alu(program, BPF_ADD, found, operand_immediate(access->offset));
    if (text)
        return string_read_array(lower, value, text, (uint32_t)access->type->size, found, join);
    if (!access_is_place(value->type))
        found = read_number(lower, found, access->bits, access->shift, join);
    if (value->type.kind == TYPE_BOOLEAN) /* any byte but 0 is true */
        found = machine_alu(program, BPF_RSH, machine_alu(program, BPF_SUB, operand_immediate(0), found),
                            operand_immediate(63));
    const struct machine_block *here = program->block;
    place->value = join_number(lower, join, found);
    if (value->type.kind != TYPE_POINTER)
        place->present = join_presence(lower, join, here);
    else if (value->type.optional)
        place->present = place->value;
}
