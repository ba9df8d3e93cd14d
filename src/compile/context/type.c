/* The types of handlers' values: records are made and their fields are added here. */
#include "compile/context/type.h"

#include <string.h>

struct record *record_new(struct arena *arena)
{
    struct record *record = arena_allocate(arena, sizeof *record);
    record->presence = -1;
    return record;
}

struct record *record_of(struct record *record)
{
    while (record->same)
        record = record->same;
    return record;
}

struct field *record_field(struct record *record, const char *name, int index)
{
    record = record_of(record);
    for (size_t i = 0; i < record->field_count; i++) {
        struct field *field = &record->fields[i];
        if (name ? field->name && !strcmp(field->name, name) : !field->name && field->index == index)
            return field;
    }
    return NULL;
}

struct field *record_add_field(struct arena *arena, struct record *record, const char *name, int index)
{
    record = record_of(record);
    struct field *field = record_field(record, name, index);
    if (field)
        return field;
    if (record->frozen)
        return NULL;
    record->fields = arena_grow(arena, record->fields, record->field_count, sizeof *record->fields);
    field = &record->fields[record->field_count++];
    *field = (struct field){.name = name, .index = index, .presence = -1};
    return field;
}

bool type_is_wider(struct type type, struct type before)
{
    return type.kind != before.kind || type.optional != before.optional || type.capacity != before.capacity ||
           type.ctype != before.ctype || type.kernel != before.kernel;
}

bool record_join_field(struct arena *arena, struct record *record, const char *name, int index, struct type from,
                       bool *changed)
{
    record = record_of(record);
    struct field *field = record_add_field(arena, record, name, index);
    if (!field)
        return false;
    struct type before = field->type, joined = before;
    if (record->frozen)
        from.bits = before.declared ? from.bits : 0;
    if (!type_join(arena, &joined, from, changed) || (record->frozen && type_is_wider(joined, before)))
        return false;
    if (record->frozen)
        joined.sign = before.sign;
    record_field(record, name, index)->type = joined; /* unifying may have moved the fields */
    return true;
}

/* True if the declared or loaded records A and B are the same in memory. */
static bool same_layout(const struct record *a, const struct record *b)
{
    if (a->field_count != b->field_count || a->size != b->size || a->presence != b->presence)
        return false;
    for (size_t i = 0; i < a->field_count; i++) {
        const struct field *x = &a->fields[i], *y = record_field((struct record *)b, x->name, x->index);
        if (!y || x->offset != y->offset || x->presence != y->presence || x->type.kind != y->type.kind ||
            x->type.declared != y->type.declared || x->type.bits != y->type.bits ||
            x->type.capacity != y->type.capacity || x->type.bytes != y->type.bytes || x->type.ctype != y->type.ctype ||
            x->type.kernel != y->type.kernel ||
            (x->type.kind == TYPE_RECORD && !same_layout(record_of(x->type.record), record_of(y->type.record))))
            return false;
    }
    return true;
}

/* Unifies the shapes A and B. */
static bool record_unify(struct arena *arena, struct record *a, struct record *b, bool *changed)
{
    a = record_of(a);
    b = record_of(b);
    if (a == b)
        return true;
    if (a->symbol != b->symbol)
        return false;
    if (b->frozen) {
        struct record *swap = a;
        a = b;
        b = swap;
    }
    a->conflict = b->conflict = NULL; /* of an earlier compilation, if anybody's */
    if (b->frozen && !same_layout(a, b))
        return false;
    *changed = true;
    b->same = a;
    if (!a->frozen)
        a->indexed |= b->indexed;
    for (size_t i = 0; i < b->field_count; i++) {
        struct field *field = record_field(a, b->fields[i].name, b->fields[i].index);
        struct conflict conflict = {
            field ? *field : (struct field){.name = b->fields[i].name, .index = b->fields[i].index}, b->fields[i]};
        struct type type = b->fields[i].type;
        if (a->declared && a->indexed) /* what has not been stored is 0 there */
            type.optional = false;
        if (record_join_field(arena, a, b->fields[i].name, b->fields[i].index, type, changed)) {
            field = record_field(a, b->fields[i].name, b->fields[i].index);
            if (!a->frozen && !field->at)
                field->at = b->fields[i].at;
            continue;
        }
        a->conflict = arena_allocate(arena, sizeof conflict);
        *a->conflict = conflict;
        return false;
    }
    return true;
}

/* The fields of an array stand in a row. */
static void sort_by_index(struct record *record)
{
    for (size_t i = 1; i < record->field_count; i++)
        for (size_t j = i; j && record->fields[j].index < record->fields[j - 1].index; j--) {
            struct field swap = record->fields[j];
            record->fields[j] = record->fields[j - 1];
            record->fields[j - 1] = swap;
        }
}

static bool lay_out(struct record *record, int depth)
{
    record = record_of(record);
    if (record->size)
        return true;
    if (depth > 16) /* only a record inside itself is that deep */
        return false;
    uint32_t offset = 0;
    int optional = 0;
    for (size_t i = 0; i < record->field_count; i++)
        optional += record->fields[i].type.optional;
    if (optional > 64)
        return false;
    if (record->indexed)
        sort_by_index(record);
    record->presence = optional ? 0 : -1;
    offset = optional ? 8 : 0;
    int bit = 0;
    for (size_t i = 0; i < record->field_count; i++) {
        struct field *field = &record->fields[i];
        if (field->type.kind == TYPE_RECORD && !lay_out(field->type.record, depth + 1))
            return false;
        field->offset = offset;
        field->presence = field->type.optional ? bit++ : -1;
        offset += type_size(field->type);
    }
    record->size = offset ? offset : 8; /* `{}` is a value too, and maps want at least a byte */
    return true;
}

bool record_layout(struct record *record)
{
    return lay_out(record, 0);
}

/* Pointers of different types, and pointers and numbers, become integers where they meet. */
static bool mixes_pointers(struct type a, struct type b)
{
    if (a.kind == TYPE_POINTER && b.kind == TYPE_POINTER)
        return a.ctype != b.ctype || a.kernel != b.kernel;
    return (a.kind == TYPE_POINTER && type_is_number(b)) || (b.kind == TYPE_POINTER && type_is_number(a));
}

struct type type_copy(struct arena *arena, struct type type)
{
    if (type.kind != TYPE_RECORD || record_of(type.record)->frozen)
        return type;
    const struct record *from = record_of(type.record);
    type.record = record_new(arena);
    type.record->symbol = from->symbol;
    type.record->indexed = from->indexed;
    for (size_t i = 0; i < from->field_count; i++)
        *record_add_field(arena, type.record, from->fields[i].name, from->fields[i].index) = from->fields[i];
    for (size_t i = 0; i < from->field_count; i++)
        type.record->fields[i].type = type_copy(arena, from->fields[i].type);
    return type;
}

void type_locate(struct type type, const struct position *at)
{
    struct record *record = type.kind == TYPE_RECORD ? record_of(type.record) : NULL;
    for (size_t i = 0; record && i < record->field_count; i++) {
        record->fields[i].at = at;
        type_locate(record->fields[i].type, at);
    }
}

struct type type_of_bits(int64_t bits)
{
    return (struct type){.kind = bits == 64 ? TYPE_U64 : TYPE_I64, .bits = bits > -64 && bits < 64 ? (int8_t)bits : 0};
}

int8_t type_bits(int64_t number)
{
    int bits = 1;
    while (bits < 63 && (number < 0 ? number < -(INT64_C(1) << (bits - 1)) : number >> bits))
        bits++;
    return (int8_t)(bits > 62 ? 0 : number < 0 ? -bits : bits);
}

/* The bits that numbers of A and numbers of B need. */
static int8_t join_bits(int8_t a, int8_t b)
{
    if (!a || !b)
        return 0;
    if ((a < 0) == (b < 0))
        return a < 0 ? (a < b ? a : b) : (a > b ? a : b);
    int positive = a < 0 ? b : a, negative = a < 0 ? -a : -b;
    int bits = positive + 1 > negative ? positive + 1 : negative;
    return (int8_t)(bits < 64 ? -bits : 0);
}

/* True if memory declared as INTO holds every value of FROM. */
static bool fits_declared(struct type into, struct type from)
{
    if (from.optional)
        return false;
    if (!type_is_number(into))
        return from.kind == into.kind && from.bytes == into.bytes;
    if (from.kind == TYPE_POINTER)
        return !into.bits;
    if (!type_is_number(from))
        return false;
    return !into.bits || join_bits(into.bits, from.bits) == into.bits;
}

bool type_join(struct arena *arena, struct type *into, struct type from, bool *changed)
{
    if (from.kind == TYPE_NONE)
        return true;
    if (into->declared && into->kind != TYPE_RECORD)
        return fits_declared(*into, from);
    struct type joined = *into;
    if (into->kind == TYPE_NONE || (into->kind == TYPE_NIL && from.kind != TYPE_NIL)) {
        joined = from;
        joined.optional = from.optional || into->kind == TYPE_NIL;
    } else if (from.kind == TYPE_NIL) {
        joined.optional = true;
    } else {
        joined.optional = into->optional || from.optional;
        if (into->kind == TYPE_NUM && (from.kind == TYPE_I64 || from.kind == TYPE_U64))
            joined.kind = from.kind;
        else if (mixes_pointers(*into, from))
            joined = (struct type){.kind = TYPE_I64, .optional = joined.optional};
        else if (from.kind != into->kind && !(from.kind == TYPE_NUM && type_is_number(*into)))
            return false;
        joined.sign = into->sign > from.sign ? into->sign : from.sign;
        if (type_is_number(*into) && type_is_number(from))
            joined.bits = join_bits(into->bits, from.bits);
        if (from.bytes != into->bytes)
            return false;
        if (from.kind == TYPE_STRING && from.capacity > into->capacity)
            joined.capacity = from.capacity;
        if (from.kind == TYPE_RECORD && !record_unify(arena, into->record, from.record, changed))
            return false;
    }
    if (joined.kind != into->kind || joined.optional != into->optional || joined.capacity != into->capacity ||
        joined.bits != into->bits)
        *changed = true;
    *into = joined;
    return true;
}

struct type type_stored(struct type type)
{
    if (type.kind == TYPE_U64 || type.kind == TYPE_POINTER)
        type.sign = SIGN_UNSIGNED;
    else
        type.sign = type_is_number(type) && type.bits <= 0 ? SIGN_SIGNED : SIGN_OPEN;
    if (type_is_number(type))
        type.kind = TYPE_I64;
    return type;
}

struct type type_read(struct type type)
{
    if (!type.declared)
        type.bits = 0; /* others may store other numbers there */
    type.declared = false;
    type.sign = SIGN_OPEN;
    return type;
}

uint32_t type_size(struct type type)
{
    switch (type.kind) {
    case TYPE_STRING:
        return type.capacity;
    case TYPE_RECORD:
        return record_of(type.record)->size;
    case TYPE_BOOLEAN:
        return type.declared ? 1 : 8;
    default:
        return type.declared && type.bits ? (uint32_t)(type.bits < 0 ? -type.bits : type.bits) / 8 : 8;
    }
}

bool type_is_number(struct type type)
{
    return type.kind == TYPE_NUM || type.kind == TYPE_I64 || type.kind == TYPE_U64;
}

const char *type_declared_name(struct type type)
{
    static const char *const names[][2] = {{"i64", "u64"}, {"i8", "u8"}, {"i16", "u16"}, {"i32", "u32"}};
    if (type.kind == TYPE_BOOLEAN)
        return "bool";
    size_t row = type.bits == 8 || type.bits == -8 ? 1 : type.bits == 16 || type.bits == -16 ? 2 : type.bits ? 3 : 0;
    return names[row][type.bits ? type.bits > 0 : type.kind == TYPE_U64];
}

static const char *record_name(struct arena *arena, struct record *record)
{
    record = record_of(record);
    if (record->symbol)
        return "a symbol";
    const char *text = "a record {";
    for (size_t i = 0; i < record->field_count; i++) {
        const struct field *field = &record->fields[i];
        const char *comma = i ? "," : "";
        text = field->name ? arena_format(arena, "%s%s %s", text, comma, field->name)
                           : arena_format(arena, "%s%s [%d]", text, comma, field->index);
    }
    return arena_format(arena, "%s }", text);
}

const char *type_name(struct arena *arena, struct type type)
{
    static const char *const names[] = {
        [TYPE_NONE] = "nil",        [TYPE_NIL] = "nil",        [TYPE_BOOLEAN] = "a boolean",
        [TYPE_NUM] = "a number",    [TYPE_I64] = "an integer", [TYPE_U64] = "an unsigned integer",
        [TYPE_STRING] = "a string", [TYPE_STACK] = "a stack",  [TYPE_STATIC] = "a function or shared object",
    };
    if (type.declared && (type_is_number(type) || type.kind == TYPE_BOOLEAN))
        return type_declared_name(type);
    const char *name = type.bytes                  ? "a buffer"
                       : type.kind == TYPE_RECORD  ? record_name(arena, type.record)
                       : type.kind == TYPE_POINTER ? arena_format(arena, "a '%s'", type.ctype->name)
                                                   : names[type.kind];
    return type.optional ? arena_format(arena, "%s or nil", name) : name;
}
