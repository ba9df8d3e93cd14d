/*
 * Buffers: bytes of a number that is known only at run time. A buffer is two words, how many bytes there were and how
 * many of them are kept, and then the bytes, in whole words. Behind those that are kept all are zero, so that equal
 * buffers are equal byte by byte, as keys too. A buffer was cut where the two words differ.
 */
#include "compile/lower/lower.h"
#include "compile/lower/user_memory.h"

enum { SIZE = 0, KEPT = 8 }; /* offsets of the two words */

/* SIZE, or MOST if it is more. The verifier has to know that much of what a helper is given, so that the branch is on a
 * register of its own, which nobody spills in between. */
static struct operand at_most(struct lower *lower, struct operand size, int64_t most)
{
    struct program *program = lower->program;
    struct machine_block *fits = machine_block(program), *cut = machine_block(program), *join = machine_block(program);
    if (size.kind == OPERAND_IMMEDIATE)
        return (uint64_t)size.number > (uint64_t)most ? operand_immediate(most) : size;
    size = machine_copy(program, size);
    machine_branch(program, BPF_JLE, size, operand_immediate(most), fits, cut);
    machine_place(program, fits);
    machine_jump(program, join);
    machine_place(program, cut);
    machine_jump(program, join);
    machine_place(program, join);
    return machine_choose(program, join, fits, size, operand_immediate(most));
}

void buffer_read(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    struct machine_block *done = machine_block(program), *read = machine_block(program), *some = machine_block(program);
    bool of_kernel = value->number < 0 || ir_value(value->args[0])->type.kernel;
    const struct place *address = lower_place(lower, value->args[0]);
    struct operand size = lower_number(lower, value->args[1]), buffer = string_find_place(lower, value);
    if (address->present.kind) /* nowhere is nothing, and no loss */
        lower_continue_if(lower, BPF_JNE, address->present, operand_immediate(0), lower_way(lower, done));
    if (ir_value(value->args[1])->type.kind != TYPE_U64 && size.kind != OPERAND_IMMEDIATE) {
        struct machine_block *is_size = machine_block(program);
        machine_branch(program, BPF_JSLT, size, operand_immediate(0),
                       lower_loss(lower, lower_ledger(lower, "a negative size read as nil"), done, 0), is_size);
        machine_place(program, is_size);
    }
    struct operand kept = at_most(lower, size, value->number < 0 ? -value->number : value->number);
    machine_branch(program, BPF_JEQ, kept, operand_immediate(0), read, some);
    machine_place(program, some);
    struct operand to = operand_slot(buffer.slot, buffer.number + BUFFER_HEADER);
    struct operand result = read_bytes(lower, to, kept, address->value, of_kernel);
    lower_continue_if(lower, BPF_JEQ, result, operand_immediate(0),
                      lower_loss(lower, lower_ledger(lower, "unreadable memory read as nil"), done, 0));
    machine_jump(program, read);

    machine_place(program, read);
    memory_put(lower, BPF_DW, buffer, SIZE, size);
    memory_put(lower, BPF_DW, buffer, KEPT, kept);
    machine_jump(program, done);
    machine_place(program, done);
    struct place *place = lower_place(lower, value);
    place->value = buffer;
    place->capacity = value->type.capacity;
    place->present = machine_choose(program, done, read, operand_immediate(1), operand_immediate(0));
}

void buffer_store(struct lower *lower, struct operand to, int64_t offset, uint32_t capacity, const struct place *from)
{
    bool cuts = from->capacity > capacity; /* only declared memory does */
    memory_copy(lower, to, offset, from->value, 0, cuts ? capacity : from->capacity);
    if (!cuts)
        memory_zero(lower, to, offset + from->capacity, capacity - from->capacity);
    else
        memory_put(lower, BPF_DW, to, offset + KEPT,
                   at_most(lower, buffer_length(lower, from), capacity - BUFFER_HEADER));
}

void buffer_equal(struct lower *lower, const struct place *x, const struct place *y, struct machine_block *yes,
                  struct machine_block *no)
{
    struct program *program = lower->program;
    const struct place *shorter = x->capacity < y->capacity ? x : y, *longer = shorter == x ? y : x;
    for (uint32_t i = 0; i < longer->capacity; i += 8) {
        struct operand word =
            i < shorter->capacity ? machine_load(program, BPF_DW, shorter->value, i) : operand_immediate(0);
        lower_continue_if(lower, BPF_JEQ, machine_load(program, BPF_DW, longer->value, i), word, no);
    }
    machine_jump(program, yes);
}

struct operand buffer_length(struct lower *lower, const struct place *place)
{
    return machine_load(lower->program, BPF_DW, place->value, KEPT);
}

struct operand buffer_cut(struct lower *lower, struct operand base, int64_t offset)
{
    struct operand size = machine_load(lower->program, BPF_DW, base, offset + SIZE);
    return machine_alu(lower->program, BPF_XOR, size, machine_load(lower->program, BPF_DW, base, offset + KEPT));
}

struct place buffer_text(struct lower *lower, struct value *value)
{
    struct place place = *lower_place(lower, value);
    if (!ir_value(value)->type.bytes)
        return place;
    place.value.number += BUFFER_HEADER;
    place.capacity -= BUFFER_HEADER - 1;
    return place;
}
