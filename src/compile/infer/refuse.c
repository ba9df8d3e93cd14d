/* Refuses operations that would mean something else than in Lua, and says what to write instead. */
#include "compile/infer/infer.h"
#include "compile/ir/fold.h"

/* VALUE as a message shows it: a constant by its digits, anything else as NAME. */
static const char *shown(struct compiler *compiler, struct value *value, const char *name)
{
    value = ir_value(value);
    return fold_is_number(value) && value->constant.kind == CAPTURED_NUMBER
               ? arena_format(&compiler->arena, "%.14g", value->constant.number)
               : name;
}

_Noreturn void refuse_arithmetic(struct compiler *compiler, const struct value *value)
{
    static const char *const functions[] = {
        [IR_AND] = "band",   [IR_OR] = "bor",      [IR_XOR] = "bxor", [IR_SHL] = "lshift",
        [IR_SHR] = "rshift", [IR_SAR] = "arshift", [IR_BNOT] = "bnot"};
    const char *a = shown(compiler, value->args[0], "i"),
               *b = value->arg_count > 1 ? shown(compiler, value->args[1], "n") : NULL;
    if (value->op == IR_DIV)
        compile_fail(compiler, value->position, "a fraction in Lua: up.i64(%s) / %s cuts it off", a, b);
    if (value->op == IR_MOD)
        compile_fail(compiler, value->position,
                     "%% of a Lua number that may be negative, or by one that may be 0, has another result in Lua: "
                     "write up.i64(%s) %% %s",
                     a, b);
    compile_fail(compiler, value->position,
                 "on Lua numbers bit.%s has 32 bits in Lua, and 64 in a handler: write bit.%s(up.i64(%s)%s%s)",
                 functions[value->op], functions[value->op], a, b ? ", " : "", b ? b : "");
}

void refuse_reading(struct compiler *compiler, const struct position *position, struct value *value)
{
    value = ir_value(value);
    if (value->op != IR_CELL)
        return;
    const char *name = compiler->objects[value->object]->name;
    compile_fail(compiler, position,
                 "a handler cannot read the aggregation '%s', it only adds to it; use an up.hash() or up.var() for "
                 "values that handlers read",
                 name ? name : "?");
}
