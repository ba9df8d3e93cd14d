/* Typed access to the memory of the traced program and of the kernel. */
#include "compile/infer/typed_memory.h"

#include <string.h>

#include "compile/context/compiler.h"
#include "compile/infer/ctype.h"

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
                     base->kind == CTYPE_POINTER ? "what it points to" : "its first element");
    struct ctype_field field = ctype_field(compiler, value->position, record, value->name);
    access->type = field.type;
    access->offset = (int64_t)field.offset;
    access->shift = field.first_bit;
    set_number(access, field.type, field.bits);
    if (field.type->kind == CTYPE_OTHER)
        compile_fail(compiler, value->position, "the field '%s' of '%s' is a %s, which handlers cannot compute with",
                     value->name, record->name, field.type->name);
}

/* BASE[index] */
static void find_element(struct compiler *compiler, const struct value *value, const struct ctype *base,
                         struct access *access)
{
    if (base->kind == CTYPE_STRUCT)
        compile_fail(compiler, value->position, "a '%s' has fields, no elements", base->name);
    const struct ctype *element = ctype_element(compiler, value->position, base);
    if (element->kind == CTYPE_OTHER || !element->size)
        compile_fail(compiler, value->position,
                     "the elements of '%s' are of type '%s', which handlers cannot compute with", base->name,
                     element->name);
    access->type = element;
    access->stride = element->size;
    access->bound = base->count > 1 ? base->count : 0; /* [0] and [1] at the end of a struct stand for any number */
    access->array = base->name;
    set_number(access, element, 0);
    if (value->op == IR_GET_ELEMENT)
        return;
    if (access->bound && (uint64_t)value->number >= access->bound)
        compile_fail(compiler, value->position, "the index %lld is outside of '%s'", (long long)value->number,
                     base->name);
    access->offset = (int64_t)((uint64_t)value->number * access->stride);
    access->bound = 0;
}

/* An array of char with room for a text, no longer than up.str reads; LuaJIT takes int8_t for the same. */
static bool is_text(const struct ctype *type)
{
    enum { MAX_TEXT = 4095 };
    return type->kind == CTYPE_ARRAY && type->count > 1 && type->count <= MAX_TEXT && type->size == type->count &&
           !strncmp(type->name, "char [", 6);
}

/* The value that VALUE is another name for, after tests for nil and where their edges meet again. */
static struct value *source_of(struct value *value, int depth)
{
    value = ir_value(value);
    if (value->op == IR_PRESENT || value->op == IR_ABSENT)
        return source_of(value->args[0], depth);
    if (value->op != IR_PHI || !depth || !value->arg_count)
        return value;
    struct value *source = source_of(value->args[0], depth - 1);
    for (size_t i = 1; i < value->arg_count; i++)
        if (source_of(value->args[i], depth - 1) != source)
            return value;
    return source;
}

struct value *access_place(struct function *function, struct value *value)
{
    enum { NESTED_TESTS = 4 };
    struct value *text = source_of(value, NESTED_TESTS);
    if (!text->access || !text->access->is_text)
        return value;
    struct access *access = text->access;
    if (!access->place) {
        struct value *place = ir_insert(function, text, text->op, text->position, text->args, text->arg_count);
        place->name = text->name;
        place->number = text->number;
        place->access = arena_allocate(function->arena, sizeof *access);
        *place->access = *access;
        place->access->is_text = false;
        place->type = access_infer(function->compiler, place);
        access->place = place;
    }
    return access->place;
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
        access->is_text = is_text(access->type);
        value->access = access;
    }
    const struct ctype *found = value->access->type;
    if (value->access->is_text) /* the last byte of a buffer is no text */
        return (struct type){.kind = TYPE_STRING, .optional = true, .capacity = (uint32_t)(found->size + 8) & ~7u};
    struct type type = {.kind = TYPE_I64};
    if (found->kind == CTYPE_BOOLEAN)
        type.kind = TYPE_BOOLEAN;
    else if (found->kind == CTYPE_INTEGER)
        type = type_of_bits(value->access->bits);
    else
        type = (struct type){.kind = TYPE_POINTER, .ctype = found, .kernel = base.kernel};
    type.optional = !is_place(found) || base.optional || value->access->bound; /* of a place nothing is read */
    return type;
}

uint32_t access_bytes(const struct access *access)
{
    return (uint32_t)(access->shift + (access->bits < 0 ? -access->bits : access->bits) + 7) / 8;
}

bool access_equal(const struct access *a, const struct access *b)
{
    return a == b || (a && b && a->type == b->type && a->offset == b->offset && a->stride == b->stride &&
                      a->bound == b->bound && a->bits == b->bits && a->shift == b->shift && a->is_text == b->is_text);
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
            if (place->access && access_is_place(place->type) && one_index)
                fold(function, value, place);
        }
}
