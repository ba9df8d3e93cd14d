/*
 * Keys with texts that were cut: two that differ only behind that are one key, so that what is stored under it may
 * belong to several. Each store under such a key is counted. A mere look need not be: it finds another one's entry only
 * where that was stored under the cut key, too.
 */
#include "compile/lower/lower.h"

/* Not 0 where some text of TYPE at BASE + OFFSET was cut; OPERAND_NONE: there is none that could be. Fields that are
 * absent are zero. */
static struct operand find_marks(struct lower *lower, struct operand base, int64_t offset, struct type type)
{
    struct program *program = lower->program;
    struct operand marks = {0};
    if (type.kind == TYPE_STRING)
        return type.bytes ? buffer_cut(lower, base, offset)
                          : machine_load(program, BPF_B, base, offset + type.capacity - 1);
    if (type.kind != TYPE_RECORD)
        return marks;
    const struct record *shape = record_of(type.record);
    for (size_t i = 0; i < shape->field_count; i++) {
        struct operand mark = find_marks(lower, base, offset + shape->fields[i].offset, shape->fields[i].type);
        if (mark.kind)
            marks = marks.kind ? machine_alu(program, BPF_OR, marks, mark) : mark;
    }
    return marks;
}

/* True for a constant that fits into TYPE with its end. */
static bool is_short_constant(struct value *key, struct type type)
{
    key = ir_value(key);
    return key->op == IR_CONSTANT && key->type.kind == TYPE_STRING && key->constant.string.length < type.capacity;
}

/* True for a text of which all is kept, whatever it is: a thread's name, a constant, or one of several. */
static bool is_whole(struct value *key, struct type type)
{
    key = ir_value(key);
    if (key->op == IR_EVENT_FIELD)
        return key->event->source == EVENT_COMM;
    if (key->op != IR_PHI)
        return is_short_constant(key, type);
    for (size_t i = 0; i < key->arg_count; i++)
        if (!is_short_constant(key->args[i], type))
            return false;
    return true;
}

void cut_key_count(struct lower *lower, const struct shared *object, struct value *key)
{
    struct type type = object->key;
    if ((type.kind != TYPE_STRING && type.kind != TYPE_RECORD) || is_whole(key, type))
        return;
    struct operand marks = find_marks(lower, memory_address(lower, key, type), 0, type);
    if (!marks.kind)
        return;
    const char *cause =
        arena_format(lower->program->arena, "a key of '%s' was cut: keys that begin with the same text are one",
                     object->name ? object->name : object->map_name);
    struct machine_block *whole = machine_block(lower->program);
    lower_continue_if(lower, BPF_JEQ, marks, operand_immediate(0),
                      lower_loss(lower, lower_ledger(lower, cause), whole, 0));
    machine_continue(lower->program, whole);
}
