/*
 * A type for each value, over all handlers of a setup at once: what one handler stores into a map another reads. Types
 * only widen (nil and T become T or nil; a Lua number and an integer become an integer), so the passes over the values
 * end. A conflict is reported with both places.
 */
#include "compile/infer/infer.h"

#include "compile/infer/held.h"
#include "compile/infer/rules.h"

static void infer_all(struct inference *inference, struct function *functions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        inference->function = &functions[i];
        for (struct block *block = functions[i].entry; block; block = block->following)
            for (struct value *value = block->first; value; value = value->next) {
                struct type type = infer_value(inference, value);
                inference->changed |= type_is_wider(type, value->type) || type.bits != value->type.bits;
                value->type = type;
            }
    }
}

/* Phis that nothing needs may join what does not go together: slots are reused. */
static bool is_not_a_name(const struct value *value)
{
    return value->op != IR_PHI && value->op != IR_PRESENT && value->op != IR_ABSENT;
}

static void settle(struct inference *inference, struct function *functions, size_t count)
{
    do {
        inference->changed = false;
        infer_all(inference, functions, count);
    } while (inference->changed);
}

void pass_infer(struct function *functions, size_t count)
{
    struct compiler *compiler = functions->compiler;
    struct inference inference = {.compiler = compiler, .arena = &compiler->arena};
    held_start(compiler);
    for (size_t i = 0; i < count; i++) {
        ir_drop_unused(&functions[i], is_not_a_name, false);
        ir_find_users(&functions[i]);
    }
    settle(&inference, functions, count);
    if (held_assume_integers(compiler, OBJECT_HASH, OBJECT_ARRAY))
        settle(&inference, functions, count);
    inference.final = true;
    settle(&inference, functions, count);
    held_assume_integers(compiler, OBJECT_COUNT, OBJECT_HDR);
    held_lay_out(compiler);
    for (size_t i = 0; i < count; i++)
        for (struct block *block = functions[i].entry; block; block = block->following)
            for (struct value *value = block->first; value; value = value->next)
                if (value->type.kind == TYPE_RECORD && !record_layout(value->type.record))
                    compile_fail(compiler, value->position,
                                 "a record contains itself, or has more than 64 fields that may be nil");
}
