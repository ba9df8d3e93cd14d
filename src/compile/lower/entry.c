/*
 * What a function's entry had in registers, for a handler whose probe stands behind the entry. The handler's reads
 * decide how far its probes may slide (base/entry.h), so they are collected before it is lowered.
 */
#include "compile/lower/entry.h"

#include "arch/arch.h"
#include "compile/infer/typed_memory.h"
#include "compile/lower/lower.h"
#include "sys/cookie.h"

static void read_word(struct entry_reads *reads, int offset)
{
    if (offset >= 0 && offset != arch_cpu.instruction_pointer)
        reads->registers |= UINT64_C(1) << offset / 8;
}

static void read_given(struct entry_reads *reads, const struct argument *argument)
{
    switch (argument->place) {
    case ARGUMENT_CONTEXT:
        return read_word(reads, (int)argument->offset);
    case ARGUMENT_MEMORY:
        reads->memory = true;
        read_word(reads, (int)argument->base);
        if (argument->index_bits)
            read_word(reads, (int)argument->index);
        return;
    case ARGUMENT_COMPUTED:
        reads->memory = true;
        for (size_t i = 0; i < argument->step_count; i++)
            if (argument->steps[i].operation == ARGUMENT_WORD)
                read_word(reads, (int)argument->steps[i].number);
        return;
    default:
        return;
    }
}

static void read_event(struct entry_reads *reads, const struct handler *handler, const struct value *value)
{
    const struct event_field *event = value->event;
    switch (event->source) {
    case EVENT_ARGUMENT:
        return read_word(reads, handler->provider->argument(event->number));
    case EVENT_GIVEN:
        return read_given(reads, event->argument);
    case EVENT_REGISTER:
        return read_word(reads, (int)value->number);
    case EVENT_CALLER:
        return read_word(reads, arch_cpu.return_address >= 0 ? arch_cpu.return_address : arch_cpu.stack_pointer);
    case EVENT_STACK_POINTER:
        return read_word(reads, arch_cpu.stack_pointer);
    default:
        return;
    }
}

static void read_value(struct entry_reads *reads, const struct handler *handler, const struct value *value)
{
    switch (value->op) {
    case IR_EVENT_FIELD:
        /* Other fields of a return handler are of the return. */
        if (!handler->provider->pairing || value->event->of_entry)
            read_event(reads, handler, value);
        return;
    case IR_USTACK:
        if (handler->provider->pairing)
            return;
        read_word(reads, arch_cpu.stack_pointer);
        read_word(reads, arch_cpu.frame_pointer);
        return read_word(reads, arch_cpu.return_address);
    case IR_READ:
    case IR_STRING:
    case IR_BUFFER:
        reads->memory = true;
        return;
    default:
        reads->memory |= value->access != NULL;
    }
}

void entry_settle(struct function *function)
{
    struct handler *handler = function->handler;
    struct entry_reads reads = {.returns = handler->provider->pairing};
    if (!handler->sites || handler->of_go)
        return;
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next)
            read_value(&reads, handler, value);
    function->options->settle(handler->sites, &reads, function->arena, &handler->stand);
}

/* --- reading --- */

struct operand entry_cookie(struct lower *lower, int64_t shift, int64_t mask)
{
    struct program *program = lower->program;
    struct operand cookie = machine_call_pure(program, BPF_FUNC_get_attach_cookie, &lower->context, 1);
    cookie = shift ? machine_alu(program, BPF_RSH, cookie, operand_immediate(shift)) : cookie;
    return machine_alu(program, BPF_AND, cookie, operand_immediate(mask));
}

struct operand entry_slid(struct lower *lower)
{
    int slid = lower->function->handler->stand.slid;
    return slid >= 0 ? operand_immediate(slid) : entry_cookie(lower, COOKIE_SLID_SHIFT, COOKIE_SLID_MASK);
}

static struct operand load(struct lower *lower, unsigned word)
{
    return machine_load(lower->program, BPF_DW, lower->context, 8 * (int)word);
}

static struct operand stack_pointer(struct lower *lower)
{
    struct program *program = lower->program;
    int moved = lower->function->handler->stand.moved;
    struct operand now = load(lower, (unsigned)arch_cpu.stack_pointer / 8);
    if (moved >= 0)
        return moved ? machine_alu(program, BPF_ADD, now, operand_immediate(moved)) : now;
    struct operand words = entry_cookie(lower, COOKIE_MOVED_SHIFT, COOKIE_MOVED_MASK);
    return machine_alu(program, BPF_ADD, now, machine_alu(program, BPF_LSH, words, operand_immediate(3)));
}

/* How SHAPE has WORD; NULL: in its own register. */
static const struct entry_value *find(const struct entry_shape *shape, unsigned word)
{
    for (size_t i = 0; i < shape->count; i++)
        if (shape->values[i].word == word)
            return &shape->values[i];
    return NULL;
}

/* WORD where VALUE says. */
static struct operand value_of(struct lower *lower, unsigned word, const struct entry_value *value)
{
    struct program *program = lower->program;
    struct operand result = load(lower, value ? value->base : word);
    if (value && value->kind == ENTRY_VALUE_MEMORY) {
        struct slot *slot = program_slot(program, 8);
        machine_store(program, BPF_DW, operand_slot(slot, 0), 0, operand_immediate(0));
        probe_read_user(lower, slot, 8, machine_alu(program, BPF_ADD, result, operand_immediate(value->offset)));
        result = machine_load(program, BPF_DW, operand_slot(slot, 0), 0);
    }
    return value && value->plus ? machine_alu(program, BPF_SUB, result, operand_immediate(value->plus)) : result;
}

static bool is_same(const struct entry_value *a, const struct entry_value *b)
{
    return a && b ? a->kind == b->kind && a->base == b->base && a->offset == b->offset && a->plus == b->plus : a == b;
}

/* WORD where the sites differ: the cookie tells the shape. Those that have it alike go one way. */
static struct operand choose(struct lower *lower, unsigned word)
{
    struct program *program = lower->program;
    const struct entry_stand *stand = &lower->function->handler->stand;
    struct slot *slot = program_slot(program, 8);
    struct operand number = entry_cookie(lower, COOKIE_SHAPE_SHIFT, COOKIE_SHAPE_MASK);
    struct machine_block *done = machine_block(program);
    struct machine_block *ways[ENTRY_SHAPES] = {NULL};
    for (size_t i = 1; i < stand->shape_count; i++) {
        const struct entry_value *value = find(&stand->shapes[i], word);
        if (!value)
            continue;
        size_t same = 1;
        while (!is_same(find(&stand->shapes[same], word), value))
            same++;
        bool is_new = !ways[same];
        if (is_new)
            ways[same] = machine_block(program);
        struct machine_block *next = machine_block(program);
        machine_branch(program, BPF_JEQ, number, operand_immediate((int64_t)i), ways[same], next);
        machine_place(program, next);
    }
    machine_store(program, BPF_DW, operand_slot(slot, 0), 0, load(lower, word));
    machine_jump(program, done);
    for (size_t i = 1; i < stand->shape_count; i++)
        if (ways[i]) {
            machine_place(program, ways[i]);
            machine_store(program, BPF_DW, operand_slot(slot, 0), 0,
                          value_of(lower, word, find(&stand->shapes[i], word)));
            machine_jump(program, done);
        }
    machine_place(program, done);
    return machine_load(program, BPF_DW, operand_slot(slot, 0), 0);
}

bool entry_has_moved(const struct lower *lower, unsigned word)
{
    const struct entry_stand *stand = &lower->function->handler->stand;
    bool moved = word == (unsigned)arch_cpu.stack_pointer / 8 && stand->moved;
    for (size_t i = 1; i < stand->shape_count && !moved; i++)
        moved = find(&stand->shapes[i], word) != NULL;
    return moved;
}

struct operand entry_word(struct lower *lower, unsigned word)
{
    const struct entry_stand *stand = &lower->function->handler->stand;
    if (!entry_has_moved(lower, word))
        return load(lower, word);
    if (word == (unsigned)arch_cpu.stack_pointer / 8)
        return stack_pointer(lower);
    if (stand->shape >= 0)
        return value_of(lower, word, find(&stand->shapes[stand->shape], word));
    return choose(lower, word);
}

bool entry_is_whole(const struct lower *lower)
{
    const int words[] = {arch_cpu.stack_pointer, arch_cpu.frame_pointer, arch_cpu.return_address};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i] >= 0 && entry_has_moved(lower, (unsigned)words[i] / 8))
            return false;
    return true;
}
