/* Widens the types that share one place, or reports both uses where they disagree. */
#include "compile/infer/unify.h"

#include "compile/context/compiler.h"
#include "compile/infer/held.h"

/* One side of a disagreement, and where it is. */
struct side {
    struct type type;
    const struct position *at;
    bool loaded; /* it cannot change any more */
};

/* "an integer"; of two strings, what differs. */
static const char *name_of(struct arena *arena, struct type type, struct type other)
{
    if (type.bytes && other.bytes)
        return arena_format(arena, "a buffer of up to %u bytes", type.capacity - BUFFER_HEADER);
    if (type.kind == TYPE_STRING && other.kind == TYPE_STRING && !type.bytes && !other.bytes)
        return arena_format(arena, "a string of up to %u bytes", type.capacity - 1);
    return type_name(arena, type);
}

static const char *show(struct arena *arena, const struct side *side, struct type other)
{
    const char *name = name_of(arena, side->type, other);
    if (side->type.declared)
        return arena_format(arena, "declared as %s", name);
    if (side->at)
        name = arena_format(arena, "%s at %s:%d", name, side->at->file, side->at->line);
    return side->loaded ? arena_format(arena, "%s when it was loaded", name) : name;
}

/* The advice for a number that does not fit into its declared type or may be nil, and for a string that does not fit
 * into a loaded one. */
static const char *remedy(struct arena *arena, struct type from, struct type declared)
{
    if (from.bytes && declared.bytes && !declared.declared)
        return arena_format(arena, ": read it with up.buf(address, size, %u), or use another map",
                            declared.capacity - BUFFER_HEADER);
    if (from.kind == TYPE_STRING && declared.kind == TYPE_STRING && from.bytes == declared.bytes && !declared.declared)
        return arena_format(arena, ": read it with up.str(address, %u), or use another map", declared.capacity);
    if (!declared.declared || from.kind == TYPE_NIL)
        return "";
    if (from.optional)
        return ", which is never nil: test the value before, or give a default with `or`";
    if (type_is_number(declared) && type_is_number(from))
        return arena_format(arena, ": say up.%s(x) to cut it", type_declared_name(declared));
    return "";
}

static const char *label(struct arena *arena, const struct field *field)
{
    return field->name ? field->name : arena_format(arena, "[%d]", field->index);
}

/* Two records whose fields CONFLICT, one of them at AT. */
static _Noreturn void fail_fields(struct compiler *compiler, const struct position *at, const struct conflict *conflict,
                                  const char *whose)
{
    struct arena *arena = &compiler->arena;
    struct side side = {conflict->field.type, conflict->field.at, false};
    struct side other = {conflict->other.type, conflict->other.at, false};
    if (conflict->field.type.kind == TYPE_NONE)
        compile_fail(compiler, at, "the records of %s have no field '%s', which this one has", whose,
                     label(arena, &conflict->other));
    compile_fail(compiler, at, "the field '%s' of the records of %s is %s, and %s%s", label(arena, &conflict->field),
                 whose, show(arena, &other, side.type), show(arena, &side, other.type),
                 remedy(arena, conflict->other.type, conflict->field.type));
}

static _Noreturn void fail_object(struct compiler *compiler, const struct position *at, const struct shared *object,
                                  const char *what, struct type from, struct side before)
{
    struct arena *arena = &compiler->arena;
    const char *whose = arena_format(arena, "'%s'", held_name(object));
    if (from.kind == TYPE_RECORD && before.type.kind == TYPE_RECORD) {
        const struct conflict *conflict = record_of(from.record)->conflict;
        if (conflict || (conflict = record_of(before.type.record)->conflict))
            fail_fields(compiler, at, conflict, whose);
    }
    if (object->kind == OBJECT_ARRAY && *what == 'k')
        compile_fail(compiler, at, "%s is an array: its keys are integers from 0 on, not %s", whose,
                     type_name(arena, from));
    if (object->kind == OBJECT_VAR)
        compile_fail(compiler, at, "the var %s was made for %s, and is set to %s here%s", whose,
                     type_name(arena, before.type), type_name(arena, from), remedy(arena, from, before.type));
    if (object_is_aggregate(object) && *what == 'v')
        compile_fail(compiler, at,
                     "the value added to %s is %s here, and %s: convert one of them, by up.u64(x) or up.i64(x)", whose,
                     type_name(arena, from), show(arena, &before, from));
    compile_fail(compiler, at, "the %s of %s is %s here, and %s%s", what, whose, name_of(arena, from, before.type),
                 show(arena, &before, from), remedy(arena, from, before.type));
}

/* Widens *SLOT, of which *SLOT_AT was the first use. */
static bool unify(struct compiler *compiler, const struct position *at, struct shared *object, struct type *slot,
                  const struct position **slot_at, struct type from, const char *what)
{
    if (from.kind == TYPE_NONE || from.kind == TYPE_NIL)
        return false;
    from.optional = false;
    if (!slot->declared)
        from.bits = 0;
    struct side before = {*slot, *slot_at, object->fd >= 0};
    bool changed = false;
    if (!type_join(&compiler->arena, slot, from, &changed) || (object->fd >= 0 && type_is_wider(*slot, before.type))) {
        *slot = before.type;
        fail_object(compiler, at, object, what, from, before);
    }
    if (before.loaded)
        slot->sign = before.type.sign;
    if (!*slot_at)
        *slot_at = at;
    return changed;
}

bool unify_key(struct compiler *compiler, const struct position *at, struct shared *object, struct type from)
{
    return unify(compiler, at, object, &object->key, &object->key_at, from, "key");
}

bool unify_value(struct compiler *compiler, const struct position *at, struct shared *object, struct type from)
{
    return unify(compiler, at, object, &object->value, &object->value_at, from, "value");
}

bool unify_field(struct compiler *compiler, const struct value *set, struct record *shape, struct type from)
{
    struct arena *arena = &compiler->arena;
    const struct field *field = record_field(shape, set->name, (int)set->number);
    struct field before = field ? *field : (struct field){.name = set->name, .index = (int)set->number};
    bool changed = false;
    if (record_join_field(arena, shape, set->name, (int)set->number, from, &changed)) {
        struct field *joined = record_field(shape, set->name, (int)set->number);
        if (!joined->at && !record_of(shape)->frozen)
            joined->at = set->position;
        return changed;
    }
    shape = record_of(shape);
    if (before.type.kind == TYPE_NONE)
        compile_fail(compiler, set->position, "the records %s have no field '%s'",
                     shape->declared ? "declared for this" : "already loaded", label(arena, &before));
    struct side side = {before.type, before.at, shape->frozen};
    compile_fail(compiler, set->position, "the field '%s' is %s here, and %s%s", label(arena, &before),
                 name_of(arena, from, before.type), show(arena, &side, from), remedy(arena, from, before.type));
}

void unify_without_key(struct compiler *compiler, const struct position *at, const struct shared *object)
{
    const struct position *other = object->key_at;
    compile_fail(compiler, at, "'%s' has no key here, and has one %s: give it one in both places, or use two of them",
                 held_name(object),
                 other ? arena_format(&compiler->arena, "at %s:%d", other->file, other->line) : "by its declaration");
}
