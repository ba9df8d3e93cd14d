/* Values in memory: records and their fields, strings, keys and values that helpers take by address. */
#include "compile/lower/lower.h"

uint8_t memory_size(struct type type)
{
    switch (type_size(type)) {
    case 1:
        return BPF_B;
    case 2:
        return BPF_H;
    case 4:
        return BPF_W;
    default:
        return BPF_DW;
    }
}

void memory_put(struct lower *lower, uint8_t size, struct operand base, int64_t offset, struct operand value)
{
    bool is_followed = base.kind == OPERAND_REGISTER || (base.kind == OPERAND_FRAME && !base.slot->moved);
    machine_store(lower->program, size, base, offset,
                  lower->widens_loops && is_followed ? widen_number(lower, value) : value);
}

void memory_zero(struct lower *lower, struct operand to, int64_t offset, uint32_t size)
{
    for (uint32_t i = 0; i < size; i += 8)
        memory_put(lower, BPF_DW, to, offset + i, operand_immediate(0));
}

void memory_copy(struct lower *lower, struct operand to, int64_t to_offset, struct operand from, int64_t from_offset,
                 uint32_t size)
{
    for (uint32_t i = 0; i < size; i += 8)
        memory_put(lower, BPF_DW, to, to_offset + i, machine_load(lower->program, BPF_DW, from, from_offset + i));
}

void memory_store(struct lower *lower, struct operand base, int64_t offset, struct type type, struct value *value)
{
    const struct place *place = lower_place(lower, value);
    if (ir_value(value)->type.kind == TYPE_NIL) /* control never comes here */
        return;
    switch (type.kind) {
    case TYPE_STRING:
        string_store(lower, base, offset, type.capacity, value);
        break;
    case TYPE_RECORD:
        memory_copy(lower, base, offset, place->value, 0, type_size(type));
        break;
    default:
        memory_put(lower, memory_size(type), base, offset, place->value);
    }
}

struct place memory_load(struct lower *lower, struct operand base, int64_t offset, struct type type)
{
    struct program *program = lower->program;
    struct place place = {0};
    if (type.kind == TYPE_RECORD) {
        place.value = base.kind == OPERAND_FRAME ? operand_slot(base.slot, base.number + offset)
                      : offset                   ? machine_alu(program, BPF_ADD, base, operand_immediate(offset))
                                                 : lower_not_nil(lower, base);
    } else if (type.kind == TYPE_STRING) {
        /* A copy: what the map holds may change, a string does not. */
        struct slot *slot = program_slot(program, type.capacity);
        memory_copy(lower, operand_slot(slot, 0), 0, base, offset, type.capacity);
        place.value = operand_slot(slot, 0);
        place.capacity = type.capacity;
    } else {
        place.value = machine_load(program, memory_size(type), base, offset);
        if (type.declared && type.bits < 0) {
            struct operand shift = operand_immediate(64 + type.bits);
            place.value = machine_alu(program, BPF_ARSH, machine_alu(program, BPF_LSH, place.value, shift), shift);
        }
    }
    return place;
}

struct operand memory_address(struct lower *lower, struct value *value, struct type type)
{
    struct place *place = lower_place(lower, value);
    if (ir_value(value)->type.kind == TYPE_NIL) /* control never comes here */
        return operand_slot(program_slot(lower->program, type_size(type)), 0);
    if (type.kind == TYPE_STRING)
        return string_address(lower, value, type.capacity);
    if (type.kind == TYPE_RECORD)
        return place->value;
    bool constant = ir_value(value)->op == IR_CONSTANT;
    if (place->in_memory && !constant && ir_dominates(place->stored_in, lower->block))
        return operand_slot(place->in_memory, 0);
    if (!place->in_memory)
        place->in_memory = program_slot(lower->program, 8);
    place->stored_in = lower->block;
    memory_put(lower, BPF_DW, operand_slot(place->in_memory, 0), 0, place->value);
    return operand_slot(place->in_memory, 0);
}

/* --- records --- */

static bool is_emitted(const struct value *record)
{
    for (size_t i = 0; i < record->user_count; i++)
        if (record->users[i]->op == IR_EMIT && record->users[i]->args[0] == record)
            return true;
    return false;
}

void memory_record(struct lower *lower, struct value *value)
{
    struct record *shape = record_of(value->type.record);
    struct place *place = lower_place(lower, value);
    uint32_t header = is_emitted(value) ? 8 : 0;
    struct slot *slot = program_slot(lower->program, shape->size + header);
    place->value = operand_slot(slot, header);
    place->header = header ? slot : NULL;
    if (shape->declared) /* what lies between the fields too: keys are compared byte by byte */
        memory_zero(lower, place->value, 0, shape->size);
    else if (shape->presence >= 0 || !shape->field_count)
        memory_zero(lower, place->value, 0, 8);
    for (size_t i = 0; i < shape->field_count; i++)
        if (!shape->declared && (shape->fields[i].type.optional || !ir_initialises(value, &shape->fields[i])))
            memory_zero(lower, place->value, shape->fields[i].offset, type_size(shape->fields[i].type));
}

void memory_get_field(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    struct value *base = ir_value(value->args[0]);
    struct place *from = lower_place(lower, base), *place = lower_place(lower, value);
    lower_require(lower, from, "indexing nil");
    struct record *shape = record_of(base->type.record);
    const struct field *field = record_field(shape, value->name, (int)value->number);
    if (!field) {
        place->value = place->present = operand_immediate(0);
        return;
    }
    *place = memory_load(lower, from->value, field->offset, field->type);
    if (field->presence < 0)
        return;
    struct operand word = machine_load(program, BPF_DW, from->value, shape->presence);
    if (field->presence)
        word = machine_alu(program, BPF_RSH, word, operand_immediate(field->presence));
    place->present = machine_alu(program, BPF_AND, word, operand_immediate(1));
}

static void set_presence(struct lower *lower, struct operand base, const struct record *shape,
                         const struct field *field, bool present)
{
    struct program *program = lower->program;
    struct operand word = machine_load(program, BPF_DW, base, shape->presence);
    int64_t bit = (int64_t)(UINT64_C(1) << field->presence);
    word = machine_alu(program, present ? BPF_OR : BPF_AND, word, operand_immediate(present ? bit : ~bit));
    memory_put(lower, BPF_DW, base, shape->presence, word);
}

/* True for a string that was read into the field itself (string_find_place). */
static bool lies_at(const struct place *place, struct operand record, const struct field *field)
{
    return place->value.kind == OPERAND_FRAME && record.kind == OPERAND_FRAME && place->value.slot == record.slot &&
           place->value.number == record.number + field->offset;
}

void memory_set_field(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    struct value *base = ir_value(value->args[0]);
    struct place *to = lower_place(lower, base);
    struct place *from = lower_place(lower, value->args[1]);
    lower_require(lower, to, "indexing nil");
    struct record *shape = record_of(base->type.record);
    const struct field *field = record_field(shape, value->name, (int)value->number);
    if (!field) /* only ever nil: as absent as before */
        return;
    bool read_here = lies_at(from, to->value, field); /* where it is nil, it is as absent and as zero as before */
    if (from->present.kind == OPERAND_NONE) {
        memory_store(lower, to->value, field->offset, field->type, value->args[1]);
        if (field->presence >= 0)
            set_presence(lower, to->value, shape, field, true);
        return;
    }
    struct machine_block *absent = machine_block(program), *join = machine_block(program);
    lower_continue_if(lower, BPF_JNE, from->present, operand_immediate(0), absent);
    if (!read_here)
        memory_store(lower, to->value, field->offset, field->type, value->args[1]);
    set_presence(lower, to->value, shape, field, true);
    machine_jump(program, join);
    machine_place(program, absent);
    if (!read_here) {
        memory_zero(lower, to->value, field->offset, type_size(field->type)); /* keys are compared byte by byte */
        set_presence(lower, to->value, shape, field, false);
    }
    machine_continue(program, join);
}

void memory_add_field(struct lower *lower, struct value *value)
{
    struct value *base = ir_value(value->args[0]);
    struct place *to = lower_place(lower, base);
    struct operand delta = lower_number(lower, value->args[1]);
    lower_require(lower, to, "indexing nil");
    const struct field *field = record_field(base->type.record, value->name, (int)value->number);
    machine_add_atomic(lower->program, memory_size(field->type), to->value, field->offset, delta);
}

void memory_copy_record(struct lower *lower, struct value *value)
{
    struct place *from = lower_place(lower, value->args[0]), *place = lower_place(lower, value);
    lower_require(lower, from, "copying nil");
    uint32_t size = record_of(value->type.record)->size, header = is_emitted(value) ? 8 : 0;
    struct slot *slot = program_slot(lower->program, size + header);
    place->value = operand_slot(slot, header);
    place->header = header ? slot : NULL;
    memory_copy(lower, place->value, 0, from->value, 0, size);
}
