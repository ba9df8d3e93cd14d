#include "compile/access.h"

#include "compile/compiler.h"
#include "compile/fold.h"

static bool is_place(const struct ctype *type)
{
    return type->kind == CTYPE_STRUCT || type->kind == CTYPE_ARRAY;
}

bool access_is_place(struct type type)
{
    return type.kind == TYPE_POINTER && is_place(type.ctype);
}

/* What is read of TYPE; BITS: so many of them, where it is a bitfield. */
static void set_number(struct access *access, const struct ctype *type, int bits)
{
    access->bits = type->kind == CTYPE_INTEGER ? type->bits : type->kind == CTYPE_BOOLEAN ? 8 : 64;
    if (bits)
        access->bits = access->bits < 0 ? -bits : bits;
}

/* BASE.name */
static void find_field(struct compiler *compiler, const struct value *value, const struct ctype *base,
                       struct access *access)
{
    const struct ctype *record = base->kind == CTYPE_POINTER ? ctype_element(compiler, value->position, base) : base;
    if (record->kind != CTYPE_STRUCT)
        compile_fail(compiler, value->position, "a '%s' has no fields; [0] is %s", base->name,
                     base->kind == CTYPE_POINTER ? "what it leads to" : "its first element");
    struct ctype_field field = ctype_field(compiler, value->position, record, value->name);
    access->type = field.type;
    access->offset = (int64_t)field.offset;
    access->shift = field.first_bit;
    set_number(access, field.type, field.bits);
    if (field.type->kind == CTYPE_OTHER)
        compile_fail(compiler, value->position,
                     "the field '%s' of '%s' is a %s, which handlers cannot compute with", value->name, record->name,
                     field.type->name);
}

/* BASE[index] */
static void find_element(struct compiler *compiler, struct value *value, const struct ctype *base, struct access *access)
{
    if (base->kind == CTYPE_STRUCT)
        compile_fail(compiler, value->position, "a '%s' has fields, no elements", base->name);
    const struct ctype *element = ctype_element(compiler, value->position, base);
    if (element->kind == CTYPE_OTHER || !element->size)
        compile_fail(compiler, value->position, "the elements of '%s' are of type '%s', which handlers cannot compute with",
                     base->name, element->name);
    access->type = element;
    access->stride = element->size;
    access->bound = base->count > 1 ? base->count : 0; /* [0] and [1] at the end of a struct stand for any number */
    access->array = base->name;
    set_number(access, element, 0);
    if (value->op == IR_GET_ELEMENT)
        return;
    if (access->bound && (uint64_t)value->number >= access->bound)
        compile_fail(compiler, value->position, "the index %lld is outside of '%s'", (long long)value->number, base->name);
    access->offset = (int64_t)((uint64_t)value->number * access->stride);
    access->bound = 0;
}

struct type access_infer(struct compiler *compiler, struct value *value)
{
    struct type base = ir_value(value->args[0])->type;
    if (!value->access) {
        struct access *access = arena_allocate(&compiler->arena, sizeof *access);
        if (value->name)
            find_field(compiler, value, base.ctype, access);
        else
            find_element(compiler, value, base.ctype, access);
        value->access = access;
    }
    const struct ctype *found = value->access->type;
    struct type type = { .kind = TYPE_I64, .optional = true };
    if (found->kind == CTYPE_BOOLEAN)
        type.kind = TYPE_BOOLEAN;
    else if (found->kind == CTYPE_INTEGER)
        type.kind = value->access->bits == 64 ? TYPE_U64 : TYPE_I64;
    else
        type = (struct type){ .kind = TYPE_POINTER, .optional = true, .ctype = found };
    if (is_place(found)) /* nothing is read */
        type.optional = base.optional || value->access->bound;
    return type;
}

bool access_equal(const struct access *a, const struct access *b)
{
    return a == b || (a && b && a->type == b->type && a->offset == b->offset && a->stride == b->stride && a->bound == b->bound &&
                      a->bits == b->bits && a->shift == b->shift);
}

/* VALUE reads through PLACE: from now on directly through what PLACE is part of. */
static void fold(struct function *function, struct value *value, const struct value *place)
{
    struct access *access = value->access;
    access->offset += place->access->offset;
    value->args[0] = place->args[0];
    if (place->arg_count < 2)
        return;
    value->args = arena_allocate(function->arena, 2 * sizeof *value->args);
    value->args[0] = place->args[0];
    value->args[1] = place->args[1];
    value->arg_count = 2;
    value->op = IR_GET_ELEMENT;
    access->stride = place->access->stride;
    access->bound = place->access->bound;
    access->array = place->access->array;
}

void access_fold(struct function *function)
{
    ir_count_uses(function);
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next) {
            if (!value->access)
                continue;
            const struct value *place = ir_value(value->args[0]);
            bool one_index = place->arg_count < 2 || (value->arg_count < 2 && place->uses == 1);
            if (place->access && is_place(place->access->type) && one_index)
                fold(function, value, place);
        }
}
