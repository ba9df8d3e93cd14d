/* The types of shared objects' keys and values. */
#include "compile/infer/held.h"

#include "compile/ir/ir.h"

const char *held_name(const struct shared *object)
{
    return object->name ? object->name : "a shared object";
}

/* The types of a loaded object are what they were; of a new one, what is declared, what the script has written and what
 * the kind says. */
static void start_object(struct arena *arena, struct shared *object)
{
    const struct variant *variants = object->variants;
    object->variants = NULL;
    if (object->fd >= 0) { /* a ring may get further ones, of this compilation */
        for (size_t i = 0; i < object->variant_count; i++) {
            object->variants = arena_grow(arena, object->variants, i, sizeof *object->variants);
            object->variants[i] = variants[i];
        }
        return;
    }
    object->key = object->declared_key.kind ? object->declared_key : type_copy(arena, object->given_key);
    object->value = object->declared_value.kind ? object->declared_value : type_copy(arena, object->given_value);
    if (object->kind == OBJECT_ARRAY)
        object->key = (struct type){.kind = TYPE_I64};
    if (object->kind == OBJECT_VAR && object->value.kind == TYPE_NONE)
        object->value = (struct type){.kind = TYPE_I64};
    object->keyed = object->key.kind != TYPE_NONE;
    object->key_at = object->declared_key.kind ? NULL : object->given_key_at;
    object->value_at = object->declared_value.kind ? NULL : object->given_value_at;
    object->variant_count = 0;
    object->indexed = false;
}

void held_start(struct compiler *compiler)
{
    for (size_t i = 0; i < compiler->object_count; i++)
        start_object(&compiler->arena, compiler->objects[i]);
}

void held_index(struct compiler *compiler, struct value *base)
{
    while (base->op == IR_PRESENT)
        base = ir_value(base->args[0]);
    if (base->op == IR_MAP_GET)
        compiler->objects[base->object]->indexed = true;
}

bool held_assume_integers(struct compiler *compiler, enum object_kind first, enum object_kind last)
{
    bool any = false;
    for (size_t i = 0; i < compiler->object_count; i++) {
        struct shared *object = compiler->objects[i];
        if (object->kind < first || object->kind > last || !object->used || object->indexed ||
            object->value.kind != TYPE_NONE)
            continue;
        object->value.kind = TYPE_I64;
        any = true;
    }
    return any;
}

static void lay_out(struct compiler *compiler, struct shared *object, struct type *type, const char *what)
{
    if (type->kind == TYPE_RECORD && !record_layout(type->record))
        compile_fail(compiler, object->value_at ? object->value_at : object->key_at,
                     "the %s of '%s' contains itself, or has more than 64 fields that may be nil", what,
                     held_name(object));
    if (object->used && type->kind != TYPE_NONE && type_size(*type) > MAX_RECORD)
        compile_fail(compiler, object->value_at ? object->value_at : object->key_at,
                     "a %s of '%s' takes %u bytes, with what the script has stored there; handlers can have %d", what,
                     held_name(object), type_size(*type), MAX_RECORD);
}

void held_lay_out(struct compiler *compiler)
{
    for (size_t i = 0; i < compiler->object_count; i++) {
        struct shared *object = compiler->objects[i];
        lay_out(compiler, object, &object->key, "key");
        lay_out(compiler, object, &object->value, "value");
    }
}
