/* Arrays, whose elements stand in a row: reading and writing one whose number is computed. */
#include "compile/lower/lower.h"

/* One element of an array that is there. */
struct element {
    const struct record *array;
    const struct field *first;
    struct operand base, place; /* where the array lies; the element's number from 0 on, which the verifier knows */
};

/* ARRAY[INDEX]; goes to OUTSIDE where it has no such element. */
static struct element find_element(struct lower *lower, struct value *array, struct operand index,
                                   struct machine_block *outside)
{
    struct program *program = lower->program;
    struct element element = {record_of(array->type.record), record_field(array->type.record, NULL, 1),
                              lower_place(lower, array)->value,
                              machine_alu(program, BPF_SUB, index, operand_immediate(1))};
    struct machine_block *inside = machine_block(program);
    machine_branch(program, BPF_JLT, element.place, operand_immediate((int64_t)element.array->field_count), inside,
                   outside);
    machine_place(program, inside);
    return element;
}

static struct operand address_of(struct lower *lower, const struct element *element)
{
    int64_t size = type_size(element->first->type);
    struct operand offset = machine_alu(lower->program, BPF_MUL, element->place, operand_immediate(size));
    return machine_alu(lower->program, BPF_ADD, element->base, offset);
}

static struct operand presence_of(struct lower *lower, const struct element *element)
{
    return machine_load(lower->program, BPF_DW, element->base, element->array->presence);
}

void element_load(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    struct value *array = ir_value(value->args[0]);
    struct place *place = lower_place(lower, value);
    lower_require(lower, lower_place(lower, array), "indexing nil");
    struct operand index = lower_number(lower, value->args[1]), there = operand_immediate(1);
    if (!record_of(array->type.record)->field_count) {
        place->value = place->present = operand_immediate(0);
        return;
    }
    struct machine_block *outside = machine_block(program), *join = machine_block(program);
    struct element element = find_element(lower, array, index, outside);
    if (element.array->presence >= 0) {
        there = machine_alu(program, BPF_RSH, presence_of(lower, &element), element.place);
        there = machine_alu(program, BPF_AND, there, operand_immediate(1));
    }
    struct operand loaded =
        memory_load(lower, address_of(lower, &element), element.first->offset, element.first->type).value;
    machine_jump(program, join);
    machine_place(program, outside);
    machine_jump(program, join);
    machine_place(program, join);
    place->value = machine_choose(program, join, outside, operand_immediate(0), loaded);
    place->present = machine_choose(program, join, outside, operand_immediate(0), there);
}

/* Makes ELEMENT what VALUE is, 0 for nil, and notes whether it is THERE. */
static void put(struct lower *lower, const struct element *element, struct operand value, bool there)
{
    struct program *program = lower->program;
    memory_put(lower, memory_size(element->first->type), address_of(lower, element), element->first->offset, value);
    if (element->array->presence < 0)
        return;
    struct operand bit = machine_alu(program, BPF_LSH, operand_immediate(1), element->place);
    struct operand word = machine_alu(program, BPF_OR, presence_of(lower, element), bit);
    memory_put(lower, BPF_DW, element->base, element->array->presence,
               there ? word : machine_alu(program, BPF_XOR, word, bit));
}

void element_store(struct lower *lower, struct value *value)
{
    struct program *program = lower->program;
    struct value *array = ir_value(value->args[0]);
    const struct place *from = lower_place(lower, value->args[1]);
    lower_require(lower, lower_place(lower, array), "indexing nil");
    struct operand index = lower_number(lower, value->args[2]);
    if (!record_of(array->type.record)->field_count) /* only ever nil */
        return;
    struct machine_block *join = machine_block(program);
    /* Of the handler's own tables all keys are known to have a place. */
    struct machine_block *outside =
        record_of(array->type.record)->frozen
            ? lower_loss(lower, lower_ledger(lower, "an index outside of an array: not stored"), join, 0)
            : lower_way(lower, join);
    struct element element = find_element(lower, array, index, outside);
    bool is_nil = ir_value(value->args[1])->type.kind == TYPE_NIL;
    if (from->present.kind && !is_nil) {
        struct machine_block *there = machine_block(program), *absent = machine_block(program);
        machine_branch(program, BPF_JNE, from->present, operand_immediate(0), there, absent);
        machine_place(program, absent);
        put(lower, &element, operand_immediate(0), false);
        machine_jump(program, join);
        machine_place(program, there);
    }
    put(lower, &element, is_nil ? operand_immediate(0) : from->value, !is_nil);
    machine_jump(program, join);
    machine_place(program, join);
}
