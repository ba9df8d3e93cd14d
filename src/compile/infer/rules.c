/* The rule of each operation: from its arguments' types to its own. infer.c applies them until nothing changes. */
#include "compile/infer/rules.h"

#include <string.h>

#include "compile/infer/element.h"
#include "compile/infer/held.h"
#include "compile/infer/infer.h"
#include "compile/infer/typed_memory.h"
#include "compile/infer/unify.h"

static const char *name_of(struct inference *inference, struct type type)
{
    return type_name(inference->arena, type);
}

static struct type present(struct type type)
{
    type.optional = false;
    return type;
}

static const char *describe(struct inference *inference, struct value *value)
{
    return ir_describe(inference->arena, ir_value(value));
}

/* The type of VALUE in memory: numbers become integers. A nil is only possible where ALLOW_NIL. */
static struct type stored(struct inference *inference, const struct value *user, struct value *value, const char *where)
{
    struct type type = ir_value(value)->type;
    if (type.kind == TYPE_STATIC) {
        refuse_reading(inference->compiler, user->position, value);
        compile_fail(inference->compiler, user->position, "%s cannot be stored %s by a handler",
                     describe(inference, value), where);
    }
    if (access_is_place(type) && type.kernel)
        compile_fail(inference->compiler, user->position,
                     "a '%s' of the kernel cannot be stored %s: store what it holds, as up.kbuf(…, %llu) reads its "
                     "bytes, or its address: up.u64(…)",
                     type.ctype->name, where, (unsigned long long)type.ctype->size);
    if (access_is_place(type))
        compile_fail(inference->compiler, user->position,
                     "a '%s' of the traced program cannot be stored %s: store what it holds, or its address: up.u64(…)",
                     type.ctype->name, where);
    return type_stored(type);
}

static void join_key(struct inference *inference, const struct value *user, struct value *key)
{
    struct shared *object = inference->compiler->objects[user->object];
    struct type type = stored(inference, user, key, "as a key");
    if (type.kind == TYPE_POINTER) /* its address, so that up.u64(p) is the same key */
        type = (struct type){.kind = TYPE_I64, .sign = type.sign, .optional = type.optional};
    if (inference->final && (type.kind == TYPE_NIL || type.kind == TYPE_NONE))
        compile_fail(inference->compiler, user->position, "the key of '%s' is always nil here", held_name(object));
    if (!object->keyed && object->fd >= 0)
        compile_fail(inference->compiler, user->position, "'%s' has been loaded without keys", held_name(object));
    object->keyed = true;
    inference->changed |= unify_key(inference->compiler, user->position, object, type);
}

static void join_value(struct inference *inference, const struct value *user, struct value *value)
{
    struct shared *object = inference->compiler->objects[user->object];
    struct type type = stored(inference, user, value, "in a map");
    if (object->kind == OBJECT_ARRAY && type.optional)
        compile_fail(
            inference->compiler, user->position,
            "%s may be nil, which an array's entries never are: test the value before, or give a default with `or`",
            describe(inference, value));
    const struct captured *text = ir_value(value)->op == IR_CONSTANT ? &ir_value(value)->constant : NULL;
    if (text && text->kind == CAPTURED_STRING && object->value.declared && object->value.kind == TYPE_STRING &&
        text->string.length >= object->value.capacity)
        compile_fail(inference->compiler, user->position,
                     "'%s' is longer than the %u bytes that are declared for the value of '%s'", text->string.bytes,
                     object->value.capacity - 1, held_name(object));
    inference->changed |= unify_value(inference->compiler, user->position, object, type);
}

/*
 * All values that are added to an aggregation with an order must have the same sign: all unsigned or all signed.
 * Numbers that are known to be neither negative nor large go with both. Sums take either.
 */
static void join_added(struct inference *inference, const struct value *user, struct type type)
{
    struct shared *object = inference->compiler->objects[user->object];
    const struct value *amount = ir_value(user->args[0]);
    bool by_one = amount->op == IR_CONSTANT && amount->constant.kind == CAPTURED_NUMBER && amount->constant.number == 1;
    if (!inference->final || type.kind == TYPE_NONE)
        return;
    object->amounts |= !by_one;
    if (object->kind == OBJECT_COUNT || object->kind == OBJECT_SUM || (type.kind != TYPE_U64 && type.bits > 0))
        return;
    if (type.kind == TYPE_NUM)
        type.kind = TYPE_I64;
    inference->changed |= unify_value(inference->compiler, user->position, object, type);
}

/* The type of an operand that has to be a number: TYPE_NONE while it is not known. */
static struct type number(struct inference *inference, const struct value *user, struct value *operand)
{
    struct type type = ir_value(operand)->type;
    if (type_is_number(type))
        return type;
    if (type.kind == TYPE_NONE || type.kind == TYPE_NIL) {
        if (inference->final)
            compile_fail(inference->compiler, user->position, "arithmetic or comparison on a value that is always nil");
        return (struct type){.kind = TYPE_NONE};
    }
    if (type.kind == TYPE_STRING && (user->op == IR_LT || user->op == IR_LE))
        compile_fail(
            inference->compiler, user->position,
            "strings have no order in a handler: compare them with ==, ~= or s:starts(prefix), and sort in user space");
    refuse_reading(inference->compiler, user->position, operand);
    if (user->op == IR_VAR_ADD || user->op == IR_AGGREGATE)
        compile_fail(inference->compiler, user->position, ":add(value) takes an integer, not %s",
                     describe(inference, operand));
    compile_fail(inference->compiler, user->position, "arithmetic or order comparison on %s%s",
                 describe(inference, operand),
                 type.kind == TYPE_POINTER ? "; index it, as in p[1], or compute with its address: up.u64(p)" : "");
}

static bool is_pointer(struct value *value)
{
    return ir_value(value)->type.kind == TYPE_POINTER;
}

/* What USER, which takes an address or a number, is called by the script. */
static const char *function_name(struct inference *inference, const struct value *user)
{
    bool is_signed = user->number < 0;
    int bits = (int)(is_signed ? -user->number : user->number);
    switch (user->op) {
    case IR_POINTER:
        return "up.cast";
    case IR_STRING:
        return is_signed ? "up.kstr" : "up.str";
    case IR_BUFFER:
        return is_signed ? "up.kbuf" : "up.buf";
    default:
        return arena_format(inference->arena, "up.%s%c%d", user->op == IR_READ ? "read_" : "", is_signed ? 'i' : 'u',
                            bits);
    }
}

/* The first argument of USER as an address: a pointer has one too, and so has an array of char. */
static void address(struct inference *inference, struct value *user)
{
    user->args[0] = access_place(inference->function, user->args[0]);
    struct value *operand = ir_value(user->args[0]);
    if (is_pointer(operand))
        return;
    refuse_reading(inference->compiler, user->position, operand);
    if (operand->type.kind > TYPE_NIL && !type_is_number(operand->type))
        compile_fail(inference->compiler, user->position, "%s takes %s, not %s", function_name(inference, user),
                     user->op == IR_CAST ? "a number" : "an address, such as e.arg0", describe(inference, operand));
    number(inference, user, operand);
}

/* The operand of what only strings can do. */
static void string(struct inference *inference, const struct value *user, struct value *operand, const char *what)
{
    struct type type = ir_value(operand)->type;
    if (type.kind == TYPE_NONE || type.kind == TYPE_NIL) {
        if (inference->final)
            compile_fail(inference->compiler, user->position, "%s on a value that is always nil", what);
    } else if (type.kind != TYPE_STRING) {
        compile_fail(inference->compiler, user->position, "%s is for strings, and this is %s%s", what,
                     name_of(inference, present(type)),
                     type.kind == TYPE_POINTER  ? "; up.str(p) reads one"
                     : type.kind == TYPE_RECORD ? "; count its elements in a variable"
                                                : "");
    }
}

/* Each byte of the string is looked at, without a loop, and for each piece of 7 bytes of what is looked for. */
static void check_find(struct inference *inference, const struct value *user)
{
    enum { PIECE = 7, MOST = 1024 };
    const struct type type = ir_value(user->args[0])->type;
    size_t length = ir_value(user->args[1])->constant.string.length, pieces = (length + PIECE - 1) / PIECE;
    uint32_t most = type.bytes ? type.capacity - BUFFER_HEADER : type.capacity - 1;
    if (inference->final && type.kind == TYPE_STRING && most * pieces >= MOST)
        compile_fail(inference->compiler, user->position,
                     ":find(text) looks through a string of up to %u bytes; it can look through %zu: read fewer, as by "
                     "up.str(address, %zu)",
                     most, MOST / pieces - 1, MOST / pieces / 8 * 8);
}

/* up.buf(address, size) */
static struct type buffer(struct inference *inference, struct value *value)
{
    struct type size = ir_value(value->args[1])->type;
    uint32_t most = (uint32_t)(value->number < 0 ? -value->number : value->number);
    address(inference, value);
    if (size.kind > TYPE_NIL && !type_is_number(size))
        compile_fail(inference->compiler, value->position, "%s(address, size): the size is a number of bytes, not %s",
                     function_name(inference, value), describe(inference, value->args[1]));
    number(inference, value, value->args[1]);
    return (struct type){
        .kind = TYPE_STRING, .bytes = true, .optional = true, .capacity = BUFFER_HEADER + ((most + 7) & ~7u)};
}

/* What may begin a buffer is a constant, without a NUL as all of them. */
static void check_prefix(struct inference *inference, const struct value *user)
{
    struct value *text = ir_value(user->args[0]), *prefix = ir_value(user->args[1]);
    if (prefix->type.bytes || (text->type.bytes && prefix->op != IR_CONSTANT && inference->final))
        compile_fail(inference->compiler, user->position,
                     "b:starts(prefix) of a buffer takes a constant string; compare whole buffers by ==");
}

/* A string in the kernel ends at its first NUL, and has a buffer of up to 4,096 bytes. */
static void check_constants(struct inference *inference, const struct value *user)
{
    for (size_t i = 0; i < user->arg_count; i++) {
        const struct value *arg = ir_value(user->args[i]);
        if (arg->op != IR_CONSTANT || arg->constant.kind != CAPTURED_STRING)
            continue;
        if (memchr(arg->constant.string.bytes, 0, arg->constant.string.length))
            compile_fail(inference->compiler, user->position,
                         "a string with a NUL byte cannot be used in a handler, where it would end there");
        if (arg->constant.string.length >= MAX_STRING)
            compile_fail(inference->compiler, user->position,
                         "a string of %zu bytes is too long for a handler, where up to %d fit",
                         arg->constant.string.length, MAX_STRING - 1);
    }
}

static struct type arithmetic(struct inference *inference, const struct value *value)
{
    struct type result = {.kind = TYPE_NUM};
    bool all_numbers = true;
    for (size_t i = 0; i < value->arg_count; i++) {
        struct type type = number(inference, value, value->args[i]);
        if (type.kind == TYPE_NONE)
            return type;
        all_numbers &= type.kind == TYPE_NUM;
        if (i > 0 && ir_is_shift(value->op)) /* the count is no operand of the sign; a shifted num has 64 bits */
            result.kind = result.kind == TYPE_U64 ? TYPE_U64 : TYPE_I64;
        else if (type.kind == TYPE_U64 || (type.kind == TYPE_I64 && result.kind == TYPE_NUM))
            result.kind = type.kind;
    }
    bool exact = value->op == IR_ADD || value->op == IR_SUB || value->op == IR_MUL || value->op == IR_NEG;
    if (inference->final && all_numbers && !exact && !(value->op == IR_MOD && ir_is_nonnegative(value)))
        refuse_arithmetic(inference->compiler, value);
    return result;
}

/* Refuses m[a][b] with a computed b, where m[a] is no pointer. */
static void fail_second_key(struct inference *inference, const struct value *user)
{
    const struct value *base = ir_value(user->args[0]);
    while (base->op == IR_PRESENT)
        base = ir_value(base->args[0]);
    if (base->op != IR_MAP_GET || (user->op != IR_GET_ELEMENT && user->op != IR_SET_ELEMENT))
        return;
    const char *name = held_name(inference->compiler->objects[base->object]);
    compile_fail(inference->compiler, user->position, "'%s' has one key: for two write %s[{ a, b }]", name, name);
}

static struct record *record(struct inference *inference, const struct value *user, struct value *base)
{
    struct type type = ir_value(base)->type;
    if (type.kind == TYPE_RECORD)
        return record_of(type.record);
    if (type.kind == TYPE_NONE || type.kind == TYPE_NIL) {
        held_index(inference->compiler, base);
        if (inference->final)
            fail_second_key(inference, user);
        if (inference->final)
            compile_fail(inference->compiler, user->position, "%s a value that is always nil%s",
                         user->op == IR_EMIT ? "emits" : "indexes",
                         ir_value(base)->op == IR_MAP_GET ? ": nothing ever stores into that map" : "");
        return NULL;
    }
    if (type.kind == TYPE_POINTER)
        compile_fail(inference->compiler, user->position, "a handler cannot write to traced memory");
    refuse_reading(inference->compiler, user->position, base);
    if (user->op == IR_EMIT)
        compile_fail(inference->compiler, user->position, "a ring takes records: r:emit { name = value }, not %s",
                     describe(inference, base));
    fail_second_key(inference, user);
    compile_fail(inference->compiler, user->position, "%s has no fields", describe(inference, base));
}

/* The array that USER's computed INDEX leads into; NULL while it is not known. */
static struct record *array(struct inference *inference, const struct value *user, struct value *index)
{
    struct record *shape = record(inference, user, user->args[0]);
    struct type type = ir_value(index)->type;
    if (!shape)
        return NULL;
    bool computes_name = type.kind > TYPE_NIL && !type_is_number(type);
    for (size_t i = 0; i < shape->field_count; i++)
        computes_name |= shape->fields[i].name != NULL;
    if (computes_name) {
        fail_second_key(inference, user);
        compile_fail(inference->compiler, user->position,
                     "a record's fields have constant names; for keys computed in the handler use a map: up.hash()");
    }
    number(inference, user, index);
    return shape;
}

/* p[i], t[i], where i is computed */
static struct type element_type(struct inference *inference, struct value *value)
{
    value->args[0] = access_place(inference->function, value->args[0]);
    if (is_pointer(value->args[0])) {
        number(inference, value, value->args[1]);
        return access_infer(inference->compiler, value);
    }
    struct record *shape = array(inference, value, value->args[1]);
    return shape ? element_get(inference, value, shape) : (struct type){0};
}

static void set_element(struct inference *inference, struct value *value)
{
    struct record *shape = array(inference, value, value->args[2]);
    struct type type = stored(inference, value, value->args[1], "in a record");
    if (shape && type.kind != TYPE_NONE)
        element_set(inference, value, shape, type);
}

static struct type field_type(struct inference *inference, const struct value *value)
{
    struct record *shape = record(inference, value, value->args[0]);
    struct field *field = shape ? record_field(shape, value->name, (int)value->number) : NULL;
    return field ? type_read(field->type) : (struct type){.kind = inference->final ? TYPE_NIL : TYPE_NONE};
}

static void set_field(struct inference *inference, struct value *value)
{
    struct record *shape = record(inference, value, value->args[0]);
    if (!shape)
        return;
    struct type type = stored(inference, value, value->args[1], "in a record");
    if (type.kind == TYPE_NONE)
        return;
    inference->changed |= unify_field(inference->compiler, value, shape, type);
}

/* Fields that this constructor does not surely set may be nil in all records of the shape. */
static void constructor(struct inference *inference, struct value *value)
{
    struct record *shape = record_of(value->type.record);
    for (size_t i = 0; i < shape->field_count; i++) {
        struct field *field = &shape->fields[i];
        bool is_array = shape->indexed; /* its elements have presence bits in a row; of a declared one all are there */
        if (field->type.optional || field->type.kind == TYPE_NONE || (is_array && shape->declared) ||
            (!is_array && ir_initialises(value, field)))
            continue;
        if (shape->frozen)
            compile_fail(inference->compiler, value->position, "this record lacks the field '%s' that %s always have",
                         field->name ? field->name : arena_format(inference->arena, "[%d]", field->index),
                         shape->declared ? "the records declared for it" : "the records already loaded");
        field->type.optional = true;
        inference->changed = true;
    }
}

/* What to write instead of a pointer, to compare it with what it was compared with. */
static const char *comparable_with(struct type a, struct type b)
{
    if (a.kind != TYPE_POINTER && b.kind != TYPE_POINTER)
        return "";
    return a.kind == TYPE_STRING || b.kind == TYPE_STRING ? "; up.str(p) reads a string" : "; an address is up.u64(p)";
}

static struct type compare_equal(struct inference *inference, const struct value *value)
{
    struct type a = ir_value(value->args[0])->type, b = ir_value(value->args[1])->type;
    for (size_t i = 0; i < 2; i++)
        refuse_reading(inference->compiler, value->position, value->args[i]);
    if (inference->final && a.kind > TYPE_NIL && b.kind > TYPE_NIL) {
        bool comparable = a.kind == b.kind || (type_is_number(a) && type_is_number(b));
        if (!comparable)
            compile_fail(inference->compiler, value->position, "compares %s with %s: they are never equal%s",
                         describe(inference, value->args[0]), describe(inference, value->args[1]),
                         comparable_with(a, b));
        if (a.bytes != b.bytes)
            compile_fail(inference->compiler, value->position,
                         "compares a buffer with a string: write #b == 3 and b:starts \"abc\"");
        if (a.kind == TYPE_RECORD || a.kind == TYPE_STATIC)
            compile_fail(inference->compiler, value->position, "%s cannot be compared in a handler; compare fields",
                         a.kind == TYPE_RECORD ? "records" : "functions and shared objects");
    }
    return (struct type){.kind = TYPE_BOOLEAN};
}

static struct type truth(struct inference *inference, const struct value *value)
{
    const struct value *tested = ir_value(value->args[0]);
    struct type type = tested->type;
    /* A value that was tested before may be tested again; a function's argument may be nil in other calls. */
    bool given = tested->position && tested->position->caller != value->position->caller;
    if (inference->final && type.kind > TYPE_BOOLEAN && !type.optional && tested->op != IR_PRESENT && !value->goes_on &&
        !given)
        compile_fail(inference->compiler, value->position, "this condition is always true: %s is never nil or false%s",
                     name_of(inference, type), type_is_number(type) ? "; did you mean ~= 0?" : "");
    return (struct type){.kind = TYPE_BOOLEAN};
}

/* In memory a pointer and an integer may share a place, in a variable not: they are indexed and compared
 * differently. */
static void check_pointers(struct inference *inference, const struct value *phi)
{
    struct type first = {0};
    for (size_t i = 0; i < phi->arg_count; i++) {
        struct type type = ir_value(phi->args[i])->type;
        bool both = first.kind == TYPE_POINTER && type.kind == TYPE_POINTER;
        bool one = first.kind > TYPE_NIL && type.kind > TYPE_NIL &&
                   (first.kind == TYPE_POINTER) != (type.kind == TYPE_POINTER);
        if ((both && (first.ctype != type.ctype || first.kernel != type.kernel)) || (one && inference->final))
            compile_fail(inference->compiler, phi->position, "a variable is %s on one path to here and %s on another",
                         name_of(inference, present(first)), name_of(inference, present(type)));
        if (type.kind > TYPE_NIL)
            first = type;
    }
}

static struct type phi(struct inference *inference, struct value *value)
{
    struct type type = value->type;
    check_pointers(inference, value);
    for (size_t i = 0; i < value->arg_count; i++) {
        struct type from = ir_value(value->args[i])->type;
        bool ignored = false;
        if (!type_join(inference->arena, &type, from, from.kind == TYPE_RECORD ? &inference->changed : &ignored))
            compile_fail(inference->compiler, value->position, "a variable is %s on one path to here and %s on another",
                         name_of(inference, type), name_of(inference, from));
        if (type.kind == TYPE_STATIC)
            compile_fail(inference->compiler, value->position,
                         "a variable holds different functions, tables or shared objects on the paths to here: the "
                         "compiler has to know which one it is");
    }
    bool counts_nums = value->bounds[0] && ir_value(value->args[0])->type.kind == TYPE_NUM;
    for (size_t i = 0; i < 2 && counts_nums; i++) {
        enum type_kind bound = ir_value(value->bounds[i])->type.kind;
        if (bound == TYPE_U64 || (bound == TYPE_I64 && type.kind == TYPE_NUM))
            type.kind = bound;
    }
    return type;
}

static void emit(struct inference *inference, struct value *value)
{
    struct shared *object = inference->compiler->objects[value->object];
    struct record *shape = record(inference, value, value->args[0]);
    if (!shape || !inference->final)
        return;
    for (size_t i = 0; i < object->variant_count; i++)
        if (record_of(object->variants[i].record) == shape) {
            value->number = (int64_t)i;
            return;
        }
    object->variants = arena_grow(inference->arena, object->variants, object->variant_count, sizeof *object->variants);
    value->number = (int64_t)object->variant_count;
    object->variants[object->variant_count++] = (struct variant){shape, value->print};
}

/* Memory of 8 and 16 bits has no atomic addition. */
static void check_var_add(struct inference *inference, const struct value *value, const struct shared *object)
{
    if (!type_is_number(object->value))
        compile_fail(inference->compiler, value->position, "'%s' holds %s, which cannot be added to", held_name(object),
                     object->value.kind == TYPE_BOOLEAN ? "a boolean" : "a string");
    if (type_size(object->value) < 4)
        compile_fail(inference->compiler, value->position,
                     "'%s' has too few bits for an addition that loses nothing: declare it as u32 or i64",
                     held_name(object));
}

struct type infer_value(struct inference *inference, struct value *value)
{
    struct shared *object = inference->compiler->objects ? inference->compiler->objects[value->object] : NULL;
    struct type type;
    if (inference->final)
        check_constants(inference, value);
    switch (value->op) {
    case IR_PHI:
        return phi(inference, value);
    case IR_PRESENT:
        return present(ir_value(value->args[0])->type);
    case IR_ABSENT:
        type = ir_value(value->args[0])->type;
        /* Where a value is nil that never is, as in `true and x or f(x)`, control never comes: anything is right
         * there. */
        if (type.kind != TYPE_BOOLEAN && (type.optional || type.kind == TYPE_STATIC))
            return (struct type){.kind = TYPE_NIL};
        return type;
    case IR_USTACK ... IR_STACK:
        return (struct type){.kind = TYPE_STACK};
    case IR_ADD ... IR_BNOT:
        return arithmetic(inference, value);
    case IR_CAST:
        address(inference, value);
        return type_of_bits(value->number);
    case IR_READ:
        address(inference, value);
        type = type_of_bits(value->number);
        type.optional = true;
        return type;
    case IR_STRING:
        address(inference, value);
        return (struct type){.kind = TYPE_STRING,
                             .optional = true,
                             .capacity = ((uint32_t)(value->number < 0 ? -value->number : value->number) + 7) & ~7u};
    case IR_BUFFER:
        return buffer(inference, value);
    case IR_LENGTH:
        string(inference, value, value->args[0], "the length operator '#'");
        return (struct type){.kind = TYPE_NUM};
    case IR_STARTS:
        string(inference, value, value->args[0], ":starts(prefix)");
        string(inference, value, value->args[1], ":starts(prefix)");
        check_prefix(inference, value);
        return (struct type){.kind = TYPE_BOOLEAN};
    case IR_FIND:
        string(inference, value, value->args[0], ":find(text)");
        check_find(inference, value);
        return (struct type){.kind = TYPE_NUM, .optional = true, .bits = type_bits(MAX_STRING)};
    case IR_FIND_END:
        return ir_value(value->args[0])->type;
    case IR_POINTER:
        address(inference, value);
        return value->type;
    case IR_LT:
    case IR_LE:
        number(inference, value, value->args[0]);
        number(inference, value, value->args[1]);
        return (struct type){.kind = TYPE_BOOLEAN};
    case IR_EQ:
        return compare_equal(inference, value);
    case IR_NOT:
    case IR_TRUTH:
        return truth(inference, value);
    case IR_RECORD:
        constructor(inference, value);
        return value->type;
    case IR_GET_FIELD:
        value->args[0] = access_place(inference->function, value->args[0]);
        return is_pointer(value->args[0]) ? access_infer(inference->compiler, value) : field_type(inference, value);
    case IR_GET_ELEMENT:
        return element_type(inference, value);
    case IR_SET_FIELD:
        set_field(inference, value);
        return value->type;
    case IR_SET_ELEMENT:
        set_element(inference, value);
        return value->type;
    case IR_COPY:
        record(inference, value, value->args[0]);
        return present(ir_value(value->args[0])->type);
    case IR_MAP_GET:
        join_key(inference, value, value->args[0]);
        type = type_read(object->value);
        if (type.kind == TYPE_NONE && inference->final)
            type.kind = TYPE_NIL;
        type.optional = type.kind > TYPE_NIL;
        return type;
    case IR_MAP_SET:
        join_key(inference, value, value->args[0]);
        join_value(inference, value, value->args[1]);
        return value->type;
    case IR_MAP_DELETE:
        join_key(inference, value, value->args[0]);
        return (struct type){.kind = TYPE_BOOLEAN};
    case IR_MAP_FETCH_ADD:
        join_key(inference, value, value->args[0]);
        join_value(inference, value, value->args[1]);
        type = type_read(object->value);
        type.optional = true;
        return type;
    case IR_AGGREGATE:
        join_added(inference, value, number(inference, value, value->args[0]));
        if (value->arg_count > 1)
            join_key(inference, value, value->args[1]);
        else if (object->keyed)
            unify_without_key(inference->compiler, value->position, object);
        return value->type;
    case IR_VAR_GET:
        return type_read(object->value);
    case IR_VAR_SET:
        join_value(inference, value, value->args[0]);
        return value->type;
    case IR_VAR_ADD:
        number(inference, value, value->args[0]);
        check_var_add(inference, value, object);
        return value->type;
    case IR_EMIT:
        emit(inference, value);
        return (struct type){.kind = TYPE_BOOLEAN};
    default:
        return value->type;
    }
}
