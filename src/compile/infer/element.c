/*
 * Arrays: records whose fields are integers, numbered from 1 on. How many there are is known when the handler is
 * compiled: from declarations, and from the places that are written to.
 */
#include "compile/infer/element.h"

#include "compile/infer/unify.h"

enum {
    MOST_ELEMENTS = 64, /* of a handler's own tables: as many as the presence word has bits */
    DEEPEST = 16,       /* in the expression of an index */
};

/* What a number may be. */
struct range {
    int64_t low, high;
};

static bool find_range(struct value *value, struct range *range, int depth);

static bool is_small(struct range range)
{
    return range.low >= -0x10000 && range.high <= 0x10000;
}

/* Of the PHI that counts a for loop, in the loop's body: from its start to its limit. */
static bool range_of_counter(const struct value *phi, struct range *range)
{
    struct range start, limit, step;
    if (!phi->bounds[0] || !find_range(phi->args[0], &start, DEEPEST) || !find_range(phi->bounds[0], &limit, DEEPEST) ||
        !find_range(phi->bounds[1], &step, DEEPEST))
        return false;
    if (step.low > 0)
        *range = (struct range){start.low, limit.high};
    else
        *range = (struct range){limit.low, start.high};
    return step.low > 0 || step.high < 0;
}

static bool range_of_sum(const struct value *value, struct range *range, int depth)
{
    struct range a, b;
    if (!find_range(value->args[0], &a, depth) || !find_range(value->args[1], &b, depth))
        return false;
    if (value->op == IR_SUB)
        b = (struct range){-b.high, -b.low};
    if (value->op != IR_MUL) {
        *range = (struct range){a.low + b.low, a.high + b.high};
        return true;
    }
    *range = (struct range){a.low * b.low, a.high * b.high};
    return a.low >= 0 && b.low >= 0;
}

/* bit.band(x, 7), and x % 8 of what is not negative. */
static bool range_of_rest(const struct value *value, struct range *range, int depth)
{
    struct range a, b;
    if (!find_range(value->args[1], &b, depth) || b.low != b.high || b.low < 0)
        return false;
    *range = (struct range){0, value->op == IR_AND ? b.high : b.high - 1};
    if (value->op == IR_AND)
        return true;
    bool is_natural = value->type.kind == TYPE_U64 || (find_range(value->args[0], &a, depth) && a.low >= 0);
    return b.low > 0 && is_natural;
}

static bool find_range(struct value *value, struct range *range, int depth)
{
    bool found = false;
    value = ir_value(value);
    if (!depth)
        return false;
    switch (value->op) {
    case IR_CONSTANT:
        if (value->constant.kind == CAPTURED_NUMBER)
            range->low = range->high = (int64_t)value->constant.number;
        else
            range->low = range->high = value->constant.i64;
        found = type_is_number(value->type);
        break;
    case IR_PRESENT:
        return find_range(value->args[0], range, depth - 1);
    case IR_PHI:
        found = range_of_counter(value, range);
        break;
    case IR_ADD:
    case IR_SUB:
    case IR_MUL:
        found = range_of_sum(value, range, depth - 1);
        break;
    case IR_AND:
    case IR_MOD:
        found = range_of_rest(value, range, depth - 1);
        break;
    default:
        break;
    }
    return found && is_small(*range);
}

static size_t length_of(const struct record *array)
{
    size_t length = 0;
    for (size_t i = 0; i < array->field_count; i++)
        length = array->fields[i].index > (int)length ? (size_t)array->fields[i].index : length;
    return length;
}

/* Gives ARRAY the elements 1 … LENGTH, which USER needs to hold TYPE. */
static void widen(struct inference *inference, const struct value *user, struct record *array, size_t length,
                  struct type type)
{
    struct value element = *user;
    element.name = NULL;
    for (size_t i = 1; i <= length; i++) {
        element.number = (int64_t)i;
        inference->changed |= unify_field(inference->compiler, &element, array, type);
    }
    array = record_of(array);
    if (array->indexed || array->frozen)
        return;
    array->indexed = inference->changed = true;
}

/* Refuses what is no array, once its fields are known. */
static void check_array(struct inference *inference, const struct value *user, const struct record *array)
{
    for (size_t i = 0; i < array->field_count; i++) {
        const struct field *field = &array->fields[i];
        if (field->index < 1)
            compile_fail(
                inference->compiler, user->position,
                "the elements of a table whose keys are computed are numbered from 1 on, and this one has [%d]",
                field->index);
        if (field->type.kind > TYPE_NIL && !type_is_number(field->type))
            compile_fail(inference->compiler, user->position,
                         "a table whose keys are computed holds integers, and [%d] is %s", field->index,
                         type_name(inference->arena, field->type));
    }
    if (!array->frozen && length_of(array) > MOST_ELEMENTS)
        compile_fail(inference->compiler, user->position,
                     "a table whose keys are computed has up to %d elements, and this one has [%zu]", MOST_ELEMENTS,
                     length_of(array));
    if (array->frozen && !array->indexed)
        compile_fail(inference->compiler, user->position,
                     "a tuple's keys are constants; what is declared as \"u64[8]\" takes computed ones");
}

/* What is in no element yet, so that they stand in a row. */
static const struct type FILLER = {.kind = TYPE_I64, .bits = 1};

struct type element_get(struct inference *inference, const struct value *value, struct record *array)
{
    if (!array->field_count)
        return (struct type){.kind = inference->final ? TYPE_NIL : TYPE_NONE};
    if (inference->final)
        check_array(inference, value, array);
    size_t length = length_of(array);
    if (!array->frozen && length <= MOST_ELEMENTS)
        widen(inference, value, array, length, FILLER);
    struct type type = type_read(record_of(array)->fields[0].type);
    type.optional = true;
    return type;
}

void element_set(struct inference *inference, const struct value *set, struct record *array, struct type type)
{
    struct range range;
    if (type.kind == TYPE_POINTER)
        type = (struct type){.kind = TYPE_I64, .sign = type.sign, .optional = type.optional};
    if (type.kind != TYPE_NIL && !type_is_number(type))
        compile_fail(inference->compiler, set->position,
                     "a table whose keys are computed holds integers, not %s: emit a record for each",
                     ir_describe(inference->arena, ir_value(set->args[1])));
    if (inference->final)
        check_array(inference, set, array);
    if (array->frozen) {
        if (array->field_count)
            widen(inference, set, array, 1, type);
        return;
    }
    if (find_range(set->args[2], &range, DEEPEST) && range.low >= 1 && range.high <= MOST_ELEMENTS &&
        length_of(array) <= MOST_ELEMENTS) {
        widen(inference, set, array, (size_t)range.high, type);
        widen(inference, set, array, length_of(record_of(array)), FILLER);
    } else if (inference->final) {
        compile_fail(inference->compiler, set->position,
                     "which of a table's elements are written has to be seen from the key, and that they are among the "
                     "first %d: for i = 1, 8 do t[i] = … end; for other keys use a map: up.hash()",
                     MOST_ELEMENTS);
    }
}
