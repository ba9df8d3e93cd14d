/* Reading the memory that is traced: the process's, or for the kernel's own probes the kernel's. */
#include "compile/lower/user_memory.h"

#include "compile/infer/typed_memory.h"
#include "compile/lower/entry.h"

struct operand read_bytes(struct lower *lower, struct operand to, struct operand size, struct operand address,
                          bool kernel)
{
    const struct provider *provider = lower->function->handler->provider;
    int32_t helper = kernel             ? BPF_FUNC_probe_read_kernel
                     : provider->sleeps ? BPF_FUNC_copy_from_user
                                        : BPF_FUNC_probe_read_user;
    lower->program->sleepable |= helper == BPF_FUNC_copy_from_user;
    return machine_call(lower->program, helper, OPERANDS(to, size, address));
}

static struct operand copy_memory(struct lower *lower, struct slot *slot, uint32_t size, struct operand address,
                                  bool kernel)
{
    return read_bytes(lower, operand_slot(slot, 0), operand_immediate(size), address, kernel);
}

/* Those BITS of WORD, negative if signed, that begin at its bit FIRST. */
static struct operand bits_in(struct program *program, struct operand word, int first, int bits)
{
    int width = bits < 0 ? -bits : bits;
    if (width + first < 64)
        word = machine_alu(program, BPF_LSH, word, operand_immediate(64 - width - first));
    return width < 64 ? machine_alu(program, bits < 0 ? BPF_ARSH : BPF_RSH, word, operand_immediate(64 - width)) : word;
}

struct operand read_loaded(struct lower *lower, const struct access *access, struct operand base, int64_t offset)
{
    struct program *program = lower->program;
    uint32_t bytes = access_bytes(access), width = (uint32_t)(access->bits < 0 ? -access->bits : access->bits);
    uint8_t size = bytes == 1 ? BPF_B : bytes == 2 ? BPF_H : bytes == 4 ? BPF_W : BPF_DW;
    struct operand word = machine_load(program, size, base, offset);
    if (bytes > 8) { /* a bit field of a packed struct begins within one byte and ends within the ninth */
        struct operand rest = machine_load(program, BPF_B, base, offset + 8);
        word = machine_alu(program, BPF_RSH, word, operand_immediate(access->shift));
        rest = machine_alu(program, BPF_LSH, rest, operand_immediate(64 - access->shift));
        return bits_in(program, machine_alu(program, BPF_OR, word, rest), 0, access->bits);
    }
    bool is_byte = width == 8 && bytes == 1;
    /* any value but 0: the negative has the sign */
    if (access->type && access->type->kind == CTYPE_BOOLEAN && is_byte) {
        word = machine_alu(program, BPF_SUB, operand_immediate(0), word);
        return machine_alu(program, BPF_RSH, word, operand_immediate(63));
    }
    if (!access->shift && width == 8 * bytes && (access->bits > 0 || width == 64))
        return word;
    return bits_in(program, word, access->shift, access->bits);
}

/* The number that ACCESS finds at ADDRESS. Goes to FAILED where it cannot be read, which is counted. */
static struct operand read_number(struct lower *lower, const struct access *access, struct operand address, bool kernel,
                                  struct machine_block *failed)
{
    struct program *program = lower->program;
    uint32_t bytes = access_bytes(access);
    struct slot *slot = program_slot(program, bytes > 8 ? 16 : 8);
    if (bytes < 8 && bytes & (bytes - 1))
        machine_store(program, BPF_DW, operand_slot(slot, 0), 0, operand_immediate(0));
    struct operand result = copy_memory(lower, slot, bytes, address, kernel);
    unsigned entry = lower_ledger(lower, "unreadable memory read as nil");
    lower_continue_if(lower, BPF_JEQ, result, operand_immediate(0), lower_loss(lower, entry, failed, 0));
    return read_loaded(lower, access, operand_slot(slot, 0), 0);
}

/* --- where ways meet --- */

/* The ways on which a number comes to JOIN; on all others it is nil. */
struct ways {
    struct machine_block *join, *from[2];
    struct operand numbers[2];
    size_t count;
};

/* Ends the block: from here NUMBER comes. */
static void arrive(struct lower *lower, struct ways *ways, struct operand number)
{
    ways->from[ways->count] = lower->program->block;
    ways->numbers[ways->count++] = number;
    machine_jump(lower->program, ways->join);
}

/* Behind the join: the number, 0 where it is nil; or 1 where there is one. */
static struct operand number_of(struct lower *lower, const struct ways *ways, bool presence)
{
    struct machine_instruction *phi = machine_phi(lower->program, ways->join);
    for (size_t i = 0; i < phi->arg_count; i++) {
        phi->args[i] = operand_immediate(0);
        for (size_t n = 0; n < ways->count; n++)
            if (ways->join->predecessors[i] == ways->from[n])
                phi->args[i] = presence ? operand_immediate(1) : ways->numbers[n];
    }
    return operand_register(phi->result);
}

/* Goes on at the join, where VALUE is then known. */
static void settle(struct lower *lower, struct value *value, const struct ways *ways)
{
    struct place *place = lower_place(lower, value);
    machine_place(lower->program, ways->join);
    place->value = number_of(lower, ways, false);
    if (value->type.kind != TYPE_POINTER)
        place->present = number_of(lower, ways, true);
    else if (value->type.optional)
        place->present = place->value;
}

void read_at(struct lower *lower, struct value *value, struct operand address, int bits, bool kernel)
{
    struct access access = {.bits = bits};
    struct ways ways = {.join = machine_block(lower->program)};
    arrive(lower, &ways, read_number(lower, &access, address, kernel, ways.join));
    settle(lower, value, &ways);
}

void read_address(struct lower *lower, struct value *value)
{
    struct type from = ir_value(value->args[0])->type;
    bool kernel = from.kind == TYPE_POINTER ? from.kernel : handler_reads_kernel(lower->function->handler);
    read_at(lower, value, lower_number(lower, value->args[0]), (int)value->number, kernel);
}

/* --- computed --- */

/* 1 where NUMBER's highest bit is set, else 0. */
static struct operand sign_of(struct program *program, struct operand number)
{
    return machine_alu(program, BPF_RSH, number, operand_immediate(63));
}

/* 1 where A is less than B, both with signs, else 0: the difference has the sign unless it overflows. */
static struct operand is_less(struct program *program, struct operand a, struct operand b)
{
    struct operand difference = machine_alu(program, BPF_SUB, a, b);
    struct operand overflows = machine_alu(program, BPF_AND, machine_alu(program, BPF_XOR, a, b),
                                           machine_alu(program, BPF_XOR, difference, a));
    return sign_of(program, machine_alu(program, BPF_XOR, difference, overflows));
}

static struct operand is_unequal(struct program *program, struct operand a, struct operand b)
{
    struct operand difference = machine_alu(program, BPF_XOR, a, b);
    struct operand negative = machine_alu(program, BPF_SUB, operand_immediate(0), difference);
    return sign_of(program, machine_alu(program, BPF_OR, difference, negative));
}

/* NUMBER, or its negative where SIGN is -1 and not 0. */
static struct operand with_sign(struct program *program, struct operand number, struct operand sign)
{
    return machine_alu(program, BPF_SUB, machine_alu(program, BPF_XOR, number, sign), sign);
}

/* BPF divides numbers without signs. */
static struct operand divide(struct program *program, struct operand a, struct operand b)
{
    struct operand sign_a = machine_alu(program, BPF_ARSH, a, operand_immediate(63));
    struct operand sign_b = machine_alu(program, BPF_ARSH, b, operand_immediate(63));
    struct operand quotient =
        machine_alu(program, BPF_DIV, with_sign(program, a, sign_a), with_sign(program, b, sign_b));
    return with_sign(program, quotient, machine_alu(program, BPF_XOR, sign_a, sign_b));
}

static struct operand combine(struct program *program, enum argument_operation operation, struct operand a,
                              struct operand b)
{
    static const uint8_t codes[] = {
        [ARGUMENT_ADD] = BPF_ADD,        [ARGUMENT_SUBTRACT] = BPF_SUB,    [ARGUMENT_MULTIPLY] = BPF_MUL,
        [ARGUMENT_AND] = BPF_AND,        [ARGUMENT_OR] = BPF_OR,           [ARGUMENT_XOR] = BPF_XOR,
        [ARGUMENT_SHIFT_LEFT] = BPF_LSH, [ARGUMENT_SHIFT_RIGHT] = BPF_RSH, [ARGUMENT_SHIFT_RIGHT_SIGNED] = BPF_ARSH,
    };
    switch (operation) {
    case ARGUMENT_DIVIDE:
        return divide(program, a, b);
    case ARGUMENT_EQUAL:
        return machine_alu(program, BPF_XOR, is_unequal(program, a, b), operand_immediate(1));
    case ARGUMENT_UNEQUAL:
        return is_unequal(program, a, b);
    case ARGUMENT_LESS:
        return is_less(program, a, b);
    case ARGUMENT_LESS_OR_EQUAL:
        return machine_alu(program, BPF_XOR, is_less(program, b, a), operand_immediate(1));
    default:
        return machine_alu(program, codes[operation], a, b);
    }
}

/* The lowest bits of NUMBER, as many as BITS says, negative: with their sign. */
static struct operand narrow(struct program *program, struct operand number, int64_t bits)
{
    int64_t unused = 64 - (bits < 0 ? -bits : bits);
    if (!unused)
        return number;
    number = machine_alu(program, BPF_LSH, number, operand_immediate(unused));
    return machine_alu(program, bits < 0 ? BPF_ARSH : BPF_RSH, number, operand_immediate(unused));
}

static struct operand compute(struct lower *lower, const struct argument_step *steps, size_t count,
                              struct machine_block *failed);

/* What that one of COUNT CALLERS has passed whose distance DISTANCE is. Goes to FAILED where it is another one's. */
static struct operand passed(struct lower *lower, const struct argument_caller *callers, size_t count,
                             struct operand distance, struct machine_block *failed)
{
    struct program *program = lower->program;
    struct machine_block *join = machine_block(program);
    struct machine_block **from = arena_allocate(program->arena, count * sizeof(struct machine_block *));
    struct operand *numbers = arena_allocate(program->arena, count * sizeof *numbers);
    for (size_t i = 0; i < count; i++) {
        struct machine_block *next = machine_block(program);
        lower_continue_if(lower, BPF_JEQ, distance, operand_immediate(callers[i].distance), next);
        numbers[i] = compute(lower, callers[i].steps, callers[i].step_count, failed);
        from[i] = program->block;
        machine_jump(program, join);
        machine_place(program, next);
    }
    machine_jump(program,
                 lower_loss(lower, lower_ledger(lower, "called from where it is not said what is passed"), failed, 0));
    machine_place(program, join);
    struct machine_instruction *phi = machine_phi(program, join);
    for (size_t i = 0; i < phi->arg_count; i++)
        for (size_t n = 0; n < count; n++)
            if (join->predecessors[i] == from[n])
                phi->args[i] = numbers[n];
    return operand_register(phi->result);
}

/* What COUNT STEPS leave. Goes to FAILED where they read what is unreadable. */
static struct operand compute(struct lower *lower, const struct argument_step *steps, size_t count,
                              struct machine_block *failed)
{
    struct program *program = lower->program;
    struct operand stack[ARGUMENT_STEPS + 1];
    size_t depth = 0;
    for (const struct argument_step *step = steps; step < steps + count; step++) {
        struct operand *top = depth ? &stack[depth - 1] : stack;
        switch (step->operation) {
        case ARGUMENT_NUMBER:
            stack[depth++] = machine_copy(program, operand_immediate(step->number));
            break;
        case ARGUMENT_WORD:
            stack[depth++] = entry_word(lower, (unsigned)step->number / 8);
            break;
        case ARGUMENT_THREAD:
            stack[depth++] =
                machine_load(program, BPF_DW, machine_call(program, BPF_FUNC_get_current_task_btf, NULL, 0),
                             lower->function->options->task_thread());
            break;
        case ARGUMENT_ADD_NUMBER:
            *top = machine_alu(program, BPF_ADD, *top, operand_immediate(step->number));
            break;
        case ARGUMENT_RETURN: {
            struct operand link = read_number(lower, &(struct access){.bits = 64}, *top, false, failed);
            *top = probe_return_address(lower, link, *top);
            break;
        }
        case ARGUMENT_LOAD:
            *top = read_number(lower, &(struct access){.bits = (int)step->number}, *top, false, failed);
            break;
        case ARGUMENT_PASSED:
            *top = passed(lower, step->callers, (size_t)step->number, *top, failed);
            break;
        case ARGUMENT_NARROW:
            *top = narrow(program, *top, step->number);
            break;
        default:
            depth--;
            stack[depth - 1] = combine(program, step->operation, stack[depth - 1], stack[depth]);
        }
    }
    return stack[0];
}

void read_computed(struct lower *lower, struct value *value)
{
    const struct argument *argument = value->event->argument;
    struct program *program = lower->program;
    struct ways ways = {.join = machine_block(program)};
    struct operand number = compute(lower, argument->steps, argument->step_count, ways.join);
    if (argument->in_memory && argument->kind != ARGUMENT_OBJECT)
        number = read_number(lower, &(struct access){.bits = argument->kind == ARGUMENT_BOOLEAN ? 8 : argument->bits},
                             number, false, ways.join);
    if (argument->kind == ARGUMENT_BOOLEAN)
        number = is_unequal(program, narrow(program, number, 8), operand_immediate(0));
    else if (argument->kind == ARGUMENT_INTEGER)
        number = narrow(program, number, argument->bits);
    if (value->type.optional) {
        arrive(lower, &ways, number);
        settle(lower, value, &ways);
    } else {
        lower_place(lower, value)->value = number;
    }
}

/* --- through pointers --- */

static bool leads_into_kernel(const struct value *value)
{
    return ir_value(value->args[0])->type.kernel;
}

/*
 * The address OFFSET bytes from what VALUE's pointer and index lead to. Goes to FAILED where the pointer is nil or the
 * index outside of the declared array, which is counted if COUNTS.
 */
static struct operand address_of(struct lower *lower, const struct value *value, int64_t offset,
                                 struct machine_block *failed, bool counts)
{
    struct program *program = lower->program;
    const struct access *access = value->access;
    const struct place *base = lower_place(lower, value->args[0]);
    struct operand address = base->value;
    if (base->present.kind)
        lower_continue_if(lower, BPF_JNE, base->value, operand_immediate(0), lower_way(lower, failed));
    if (value->arg_count > 1) {
        struct operand index = lower_place(lower, value->args[1])->value;
        if (access->bound) {
            const char *cause = arena_format(program->arena, "an index outside of '%s' read as nil", access->array);
            struct machine_block *outside =
                counts ? lower_loss(lower, lower_ledger(lower, cause), failed, 0) : lower_way(lower, failed);
            lower_continue_if(lower, BPF_JLT, index, operand_immediate((int64_t)access->bound), outside);
        }
        if (access->stride != 1)
            index = machine_alu(program, BPF_MUL, index, operand_immediate((int64_t)access->stride));
        address = machine_alu(program, BPF_ADD, address, index);
    }
    return offset ? machine_alu(program, BPF_ADD, address, operand_immediate(offset)) : address;
}

/* Fetches the bytes of VALUE's window, of which VALUE is the first. */
static void fetch(struct lower *lower, struct value *value)
{
    const struct window *window = value->access->window;
    uint32_t size = (uint32_t)(window->end - window->start);
    struct place *place = lower_place(lower, value);
    struct ways ways = {.join = machine_block(lower->program)};
    place->window = program_slot(lower->program, size);
    struct operand address = address_of(lower, value, window->start, ways.join, false);
    struct operand result = copy_memory(lower, place->window, size, address, leads_into_kernel(value));
    lower_continue_if(lower, BPF_JEQ, result, operand_immediate(0), lower_way(lower, ways.join));
    arrive(lower, &ways, operand_immediate(1));
    machine_place(lower->program, ways.join);
    place->fetched = number_of(lower, &ways, true);
}

/* From the window, where it could be fetched; otherwise as if there were none. */
static void read_near(struct lower *lower, struct value *value, struct ways *ways)
{
    struct program *program = lower->program;
    const struct access *access = value->access;
    const struct window *window = access->window;
    if (value == window->first)
        fetch(lower, value);
    const struct place *first = lower_place(lower, window->first);
    struct machine_block *near = machine_block(program), *far = machine_block(program);
    machine_branch(program, BPF_JNE, first->fetched, operand_immediate(0), near, far);
    machine_place(program, far);
    struct operand address = address_of(lower, value, access->offset, ways->join, true);
    arrive(lower, ways, read_number(lower, access, address, leads_into_kernel(value), ways->join));
    for (struct machine_block *block = far; block; block = block->following)
        block->cold = true;
    machine_place(program, near);
    arrive(lower, ways, read_loaded(lower, access, operand_slot(first->window, 0), access->offset - window->start));
}

static void read_string(struct lower *lower, struct value *value)
{
    struct machine_block *join = machine_block(lower->program);
    struct slot *text = program_slot(lower->program, value->type.capacity);
    memory_zero(lower, operand_slot(text, 0), 0, text->size);
    struct operand address = address_of(lower, value, value->access->offset, join, true);
    string_read_array(lower, value, text, (uint32_t)value->access->type->size, address, leads_into_kernel(value), join);
}

void read_access(struct lower *lower, struct value *value)
{
    const struct access *access = value->access;
    struct ways ways = {.join = machine_block(lower->program)};
    if (value->arg_count > 1)
        lower_require(lower, lower_place(lower, value->args[1]), "arithmetic or comparison on nil");
    if (access->is_text)
        return read_string(lower, value);
    if (access->window) {
        read_near(lower, value, &ways);
    } else {
        struct operand found = address_of(lower, value, access->offset, ways.join, true);
        if (!access_is_place(value->type))
            found = read_number(lower, access, found, leads_into_kernel(value), ways.join);
        arrive(lower, &ways, found);
    }
    settle(lower, value, &ways);
}
