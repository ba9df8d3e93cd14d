/* Reads the probe's own arguments where they are: in the context, in memory, in saved registers. */
#include "base/argument.h"
#include "compile/infer/typed_memory.h"
#include "compile/lower/entry.h"
#include "compile/lower/user_memory.h"

static struct operand context_address(struct lower *lower, int64_t offset)
{
    return offset ? machine_alu(lower->program, BPF_ADD, lower->context, operand_immediate(offset)) : lower->context;
}

/* Where the bytes of a __data_loc or __rel_loc lie: its word holds their offset in the low half and their number in the
 * high one. */
static struct operand dynamic_address(struct lower *lower, const struct argument *argument)
{
    struct program *program = lower->program;
    struct operand word = machine_load(program, BPF_W, lower->context, argument->offset);
    struct operand offset = machine_alu(program, BPF_AND, word, operand_immediate(0xffff));
    struct operand base = context_address(lower, argument->place == ARGUMENT_REL_LOC ? argument->offset + 4 : 0);
    return machine_alu(program, BPF_ADD, base, offset);
}

/* ADDRESS, in the context, as a number: the verifier lets nobody multiply the address of a context, or add what it
 * knows nothing of. */
static struct operand as_number(struct lower *lower, struct operand address)
{
    struct program *program = lower->program;
    struct slot *from = program_slot(program, 8), *to = program_slot(program, 8);
    machine_store(program, BPF_DW, operand_slot(from, 0), 0, address);
    machine_call(program, BPF_FUNC_probe_read_kernel,
                 OPERANDS(operand_slot(to, 0), operand_immediate(8), operand_slot(from, 0)));
    return machine_load(program, BPF_DW, operand_slot(to, 0), 0);
}

/* The number that ACCESS finds OFFSET bytes into the context. */
static struct operand load_context(struct lower *lower, const struct argument *argument, const struct access *access)
{
    uint32_t bytes = access_bytes(access);
    bool called = lower->function->handler->provider->called;
    if (called || entry_has_moved(lower, (unsigned)argument->offset / 8)) {
        /* Of a function that is called a load would be a pointer to the verifier, with which little can be computed. */
        struct operand number = operand_immediate(argument->offset / 8);
        struct operand word = called ? probe_call_for_word(lower, BPF_FUNC_get_func_arg, &number)
                                     : entry_word(lower, (unsigned)argument->offset / 8);
        if (bytes == 8 && argument->kind != ARGUMENT_BOOLEAN)
            return word;
        struct slot *slot = program_slot(lower->program, 8);
        machine_store(lower->program, BPF_DW, operand_slot(slot, 0), 0, word);
        return read_loaded(lower, access, operand_slot(slot, 0), argument->offset % 8);
    }
    if (argument->offset % bytes == 0)
        return read_loaded(lower, access, lower->context, argument->offset);
    /* Loads of a context are aligned. */
    struct slot *slot = program_slot(lower->program, 8);
    struct operand args[] = {operand_slot(slot, 0), operand_immediate(bytes), context_address(lower, argument->offset)};
    machine_store(lower->program, BPF_DW, operand_slot(slot, 0), 0, operand_immediate(0));
    machine_call(lower->program, BPF_FUNC_probe_read_kernel, args, 3);
    return read_loaded(lower, access, operand_slot(slot, 0), 0);
}

static struct operand load_register(struct lower *lower, const struct argument *argument, const struct access *access)
{
    struct program *program = lower->program;
    struct slot *slot = program_slot(program, 8);
    if (!lower->function->handler->raw) { /* with which the thread has entered the kernel */
        struct operand task = machine_call(program, BPF_FUNC_get_current_task_btf, NULL, 0);
        struct operand saved = machine_call(program, BPF_FUNC_task_pt_regs, OPERANDS(task));
        machine_store(program, BPF_DW, operand_slot(slot, 0), 0,
                      machine_load(program, BPF_DW, saved, argument->offset));
        return read_loaded(lower, access, operand_slot(slot, 0), 0);
    }
    struct operand registers = machine_load(program, BPF_DW, lower->context, argument->base);
    if (argument->offset)
        registers = machine_alu(program, BPF_ADD, registers, operand_immediate(argument->offset));
    machine_call(program, BPF_FUNC_probe_read_kernel, OPERANDS(operand_slot(slot, 0), operand_immediate(8), registers));
    return read_loaded(lower, access, operand_slot(slot, 0), 0);
}

struct operand argument_word(struct lower *lower, const struct argument *argument)
{
    static const struct ctype boolean = {.kind = CTYPE_BOOLEAN};
    struct access access = {.bits = argument->bits, .type = argument->kind == ARGUMENT_BOOLEAN ? &boolean : NULL};
    if (argument->place == ARGUMENT_CONSTANT)
        return operand_immediate((int64_t)argument->number);
    if (argument->place == ARGUMENT_REGISTERS)
        return load_register(lower, argument, &access);
    return load_context(lower, argument, &access);
}

static void read_memory(struct lower *lower, struct value *value)
{
    const struct argument *argument = value->event->argument;
    struct operand address = entry_word(lower, argument->base / 8);
    if (argument->offset)
        address = machine_alu(lower->program, BPF_ADD, address, operand_immediate(argument->offset));
    if (argument->index_bits) {
        struct slot *slot = program_slot(lower->program, 8);
        machine_store(lower->program, BPF_DW, operand_slot(slot, 0), 0, entry_word(lower, argument->index / 8));
        struct operand index = read_loaded(lower, &(struct access){.bits = argument->index_bits}, operand_slot(slot, 0),
                                           argument->index % 8);
        if (argument->shift)
            index = machine_alu(lower->program, BPF_LSH, index, operand_immediate(argument->shift));
        address = machine_alu(lower->program, BPF_ADD, address, index);
    }
    read_at(lower, value, address, argument->bits, argument->kernel);
}

void argument_lower(struct lower *lower, struct value *value)
{
    const struct argument *argument = value->event->argument;
    struct place *place = lower_place(lower, value);
    bool dynamic = argument->place == ARGUMENT_DATA_LOC || argument->place == ARGUMENT_REL_LOC;
    if (argument->kind == ARGUMENT_STRING) {
        string_read_kernel(lower, value, argument->size, !dynamic,
                           dynamic ? dynamic_address(lower, argument) : context_address(lower, argument->offset));
    } else if (argument->kind == ARGUMENT_ARRAY) {
        place->value = as_number(lower, context_address(lower, argument->offset));
    } else if (argument->place == ARGUMENT_MEMORY) {
        read_memory(lower, value);
    } else if (argument->place == ARGUMENT_COMPUTED) {
        read_computed(lower, value);
    } else {
        place->value = argument_word(lower, argument);
        if (value->type.kind == TYPE_POINTER)
            place->present = place->value;
    }
}
