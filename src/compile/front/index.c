/* t[k] and t[k] = v: of the event, of captured tables, of shared objects and of records. */
#include <string.h>

#include "compile/front/build.h"
#include "compile/infer/ctype.h"
#include "compile/infer/ctype_btf.h"
#include "compile/infer/held.h"
#include "compile/ir/fold.h"

static bool is_object(const struct value *value)
{
    return value->op == IR_CONSTANT && value->constant.kind == CAPTURED_OBJECT;
}

static struct shared *object_of(struct build *build, const struct value *value)
{
    struct shared *object = build->compiler->objects[value->constant.handle];
    if (object->kind == OBJECT_OTHER)
        build_fail(build, "'%s' is of a kind that handlers cannot use yet", object->name ? object->name : "?");
    object->used = true;
    return object;
}

void build_name_object(struct build *build, const struct value *value, const char *name)
{
    if (!is_object(value))
        return;
    struct shared *object = build->compiler->objects[value->constant.handle];
    if (!object->name && name)
        object->name = arena_string(build->arena, name, strlen(name));
}

static bool is_map(const struct shared *object)
{
    return object->kind <= OBJECT_ARRAY;
}

/* The constant string that KEY is, or NULL. */
static const char *field_name(const struct value *key)
{
    return key->op == IR_CONSTANT && key->constant.kind == CAPTURED_STRING ? key->constant.string.bytes : NULL;
}

static struct value *method(struct build *build, struct value *receiver, const char *name)
{
    /* In no block: a method exists for the compiler only. */
    struct value *value = ir_append(build->function, NULL, IR_METHOD, build->position, &receiver, 1);
    value->type.kind = TYPE_STATIC;
    value->name = name;
    return value;
}

static bool named(const char *name, const char *const *names)
{
    for (; name && *names; names++)
        if (!strcmp(name, *names))
            return true;
    return false;
}

static struct value *index_event(struct build *build, struct value *event, const char *name);

/* e.value: the watched place, as it is when the handler looks. */
static struct value *watched_value(struct build *build, struct value *event)
{
    unsigned bits = build->function->handler->value_bits;
    if (!bits)
        build_fail(build, "e.value is what was read or written; this watchpoint is on execution");
    struct value *address = index_event(build, event, "addr");
    struct value *value = build_value(build, IR_READ, &address, 1);
    value->number = -(int64_t)bits;
    return value;
}

/* What e.task points to: the kernel's own struct, whatever the script calls one of that name. */
static const struct ctype *task_type(struct build *build)
{
    struct error ignored;
    int handle = kernel_ctypes.parse(build->compiler, "struct task_struct *", &ignored);
    if (!handle)
        build_fail(build, "e.task and e.ppid need the kernel's types, /sys/kernel/btf/vmlinux, which this kernel "
                          "does not have (CONFIG_DEBUG_INFO_BTF)");
    return ctype_of(build->compiler, handle);
}

/* e.ppid: as getppid has it, of the thread's process, in the kernel's own numbers, as e.pid is. */
static struct value *parent(struct build *build, struct value *event)
{
    struct value *value = index_event(build, event, "task");
    static const char *const path[] = {"real_parent", "tgid"};
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        value = build_value(build, IR_GET_FIELD, &value, 1);
        value->name = path[i];
    }
    return value;
}

/* e.vars */
static struct value *variables_of(struct build *build)
{
    const struct handler *handler = build->function->handler;
    if (!handler->provider->variables)
        build_fail(build, "e.vars are the variables where a uprobe stands: %s handlers have none%s",
                   handler->provider->name,
                   handler->provider->pairing ? ", since the function's frame is gone when it returns" : "");
    return build->function->variables;
}

/* e.ret, FIELD. Where it may be nil of other functions of the probe, it may be nil here, too: all programs of a handler
 * have the same types. */
static struct value *result_value(struct build *build, const struct event_field *field)
{
    struct handler *handler = build->function->handler;
    bool is_none = handler->no_result && *handler->no_result;
    const char *whose = handler->symbol ? handler->symbol : handler->probe;
    if (is_none && !handler->maybe_no_result && !strcmp(handler->no_result, "void"))
        build_fail(build, "e.ret: %s returns nothing", whose);
    if (is_none && !handler->maybe_no_result)
        build_fail(build, "e.ret: %s returns %s, which is in no register that handlers see", whose, handler->no_result);
    handler->reads_result = true;
    struct value *value = build_value(build, IR_EVENT_FIELD, NULL, 0);
    value->event = field;
    value->name = field->name;
    value->type = field->type;
    if (handler->maybe_no_result) {
        value->type = handler->result_bits ? type_of_bits(handler->result_bits) : field->type;
        value->type.optional = true;
    } else if (handler->result_bits) {
        value = build_value(build, IR_CAST, &value, 1);
        value->number = handler->result_bits;
    }
    return value;
}

static struct value *index_event(struct build *build, struct value *event, const char *name)
{
    const struct provider *provider = build->function->handler->provider;
    if (!name)
        build_fail(build, "the event's fields have names that are known when the handler is compiled");
    if (named(name, (const char *const[]){"stack", "ustack", "kstack", NULL}) && provider->registers)
        return method(build, event, name);
    if (provider->arguments && !strcmp(name, "args"))
        return build->function->arguments;
    if (!strcmp(name, "vars"))
        return variables_of(build);
    const struct event_field *numbered = provider->numbered ? argument_numbered(build, name) : NULL;
    if (numbered)
        return argument_value(build, numbered);
    if (provider->numbered && !strcmp(name, "nargs"))
        return ir_number(build->function, (double)build->function->handler->argument_count);
    if (!strcmp(name, "regs"))
        return registers_value(build);
    const struct event_field *field = event_field_find(name, provider);
    if (!field && provider->at_return && event_field_find(name, provider->at_return))
        build_fail(build, "e.%s is known when the %s returns: use %s", name, provider->returning,
                   provider->at_return->name);
    if (!field && provider->numbered)
        argument_refuse(build, name);
    if (!field)
        build_fail(build, "the event of a%s %s has no field '%s'; it has %s",
                   strchr("aeio", *provider->name) ? "n" : "", provider->name, name,
                   event_field_list(build->arena, provider));
    const struct handler *handler = build->function->handler;
    if (field->source == EVENT_FUNC && handler->raw && handler->call < 0)
        build_fail(build,
                   "which call it is, is a number in the kernel: e.nr; up.syscall_name(nr) is its name in the script");
    if (field->source == EVENT_PROBE || (field->source == EVENT_FUNC && !handler->names)) {
        const char *text = field->source == EVENT_PROBE ? handler->probe : handler->symbol;
        struct captured captured = {.kind = CAPTURED_STRING, .string = {text, strlen(text)}};
        return ir_constant(build->function, &captured);
    }
    if (field->source == EVENT_VALUE)
        return watched_value(build, event);
    if (field->source == EVENT_PARENT)
        return parent(build, event);
    if (field->source == EVENT_RETURN)
        return result_value(build, field);
    struct value *value = build_value(build, IR_EVENT_FIELD, NULL, 0);
    value->event = field;
    value->name = field->name;
    value->type = field->type;
    if (field->source == EVENT_TASK)
        value->type.ctype = task_type(build);
    if (field->source == EVENT_FUNC)
        value->type.capacity = names_capacity(handler);
    return value;
}

/* NAME: of a method, as it stands in the source; NULL: KEY is computed, perhaps by the compiler: no text of it means a
 * method, for a function that is traced may be called "get". */
static struct value *index_object(struct build *build, struct value *base, struct value *key, const char *name,
                                  const char *called)
{
    static const char *const script_methods[] = {"get",   "set", "delete", "pairs",      "size",
                                                 "clear", "top", "take",   "percentile", NULL};
    struct shared *object = object_of(build, base);
    if (object_is_aggregate(object)) {
        if (named(name, (const char *const[]){"inc", "add", NULL}))
            return method(build, base, name);
        if (named(name, script_methods))
            build_fail(build, "'%s:%s' is for the script side: a handler only adds to an aggregation",
                       called ? called : "it", name);
        struct value *cell = ir_append(build->function, NULL, IR_CELL, build->position, &key, 1);
        cell->type.kind = TYPE_STATIC;
        cell->object = (unsigned)base->constant.handle;
        return cell;
    }
    if (object->kind == OBJECT_VAR || object->kind == OBJECT_RING || object->kind == OBJECT_RECORDER) {
        const char *const *methods = object->kind == OBJECT_VAR ? (const char *const[]){"get", "set", "add", NULL}
                                                                : (const char *const[]){"emit", NULL};
        if (named(name, methods))
            return method(build, base, name);
        build_fail(build, "a handler can only %s",
                   object->kind == OBJECT_VAR ? ":get(), :set(x) and :add(n) a var" : ":emit { … } into a ring");
    }
    if (named(name, script_methods))
        build_fail(build,
                   "'%s:%s' is for the script side: in a handler write %s[key], %s[key] = value or %s[key] = nil",
                   called ? called : "m", name, called ? called : "m", called ? called : "m", called ? called : "m");
    struct value *value = build_value(build, IR_MAP_GET, &key, 1);
    value->object = (unsigned)base->constant.handle;
    return value;
}

static _Noreturn void fail_nil(struct build *build, const char *name)
{
    build_fail(build, "'%s' is nil: it is not set when the handler is compiled", name ? name : "?");
}

static void set_field_name(struct build *build, struct value *value, const struct value *key)
{
    value->name = field_name(key);
    if (value->name && strlen(value->name) != key->constant.string.length)
        build_fail(build, "the name of a record's field contains a NUL byte");
    if (value->name)
        return;
    if (!fold_is_number(key))
        build_fail(build,
                   "a record's fields have constant names; for keys computed in the handler use a map: up.hash()");
    value->number = fold_integer(build->function, key, build->position);
}

struct value *build_index(struct build *build, struct value *base, struct value *key, bool by_name, const char *name)
{
    if (base == build->function->event)
        return index_event(build, base, field_name(key));
    if (base == build->function->arguments)
        return argument_index(build, field_name(key));
    if (base->op == IR_REGISTERS)
        return registers_index(build, field_name(key));
    if (base->op == IR_ARGUMENTS && base->number)
        return argument_variable(build, base, key);
    if (is_object(base))
        return index_object(build, base, key, by_name ? field_name(key) : NULL, name);
    if (base->op == IR_CELL) {
        if (named(field_name(key), (const char *const[]){"inc", "add", NULL}))
            return method(build, base, field_name(key));
        if (!field_name(key))
            build_fail(build, "'%s' has one key: for two write %s[{ a, b }]",
                       held_name(build->compiler->objects[base->object]),
                       held_name(build->compiler->objects[base->object]));
        build_fail(build, "an aggregation's element can only be added to in a handler: :inc() or :add(value)");
    }
    if (base->op == IR_CONSTANT) {
        if (base->constant.kind == CAPTURED_TABLE) {
            if (key->op != IR_CONSTANT)
                build_fail(build,
                           "a table of the script is constant in a handler: its keys too; use up.hash() for a lookup");
            struct captured captured =
                build->compiler->host.field(build->compiler->host.context, base->constant.handle, &key->constant);
            struct value *value = ir_constant(build->function, &captured);
            if (field_name(key))
                build_use_captured(build, build_field_name(build, base, key, name));
            build_name_object(build, value, field_name(key));
            return value;
        }
        if (base->constant.kind == CAPTURED_NIL)
            fail_nil(build, name);
        if (base->constant.kind == CAPTURED_STRING && field_name(key))
            return method(build, base, field_name(key));
        build_fail(build, "'%s' cannot be indexed in a handler", name ? name : "?");
    }
    if (key->op != IR_CONSTANT) /* of a pointer, which is known when its type is */
        return build_value(build, IR_GET_ELEMENT, (struct value *[]){base, key}, 2);
    struct value *value = build_value(build, IR_GET_FIELD, &base, 1);
    set_field_name(build, value, key);
    return value;
}

void build_assign(struct build *build, struct value *base, struct value *key, struct value *value, const char *name)
{
    if (is_object(base)) {
        struct shared *object = object_of(build, base);
        if (!is_map(object))
            build_fail(build, "'%s' is no map: a handler cannot assign to its elements", name ? name : "?");
        bool deletes = value == ir_nil(build->function);
        if (deletes && object->kind == OBJECT_ARRAY)
            build_fail(build, "an array's entries cannot be deleted; set '%s' to 0 there", name ? name : "it");
        struct value *set =
            build_value(build, deletes ? IR_MAP_DELETE : IR_MAP_SET, (struct value *[]){key, value}, deletes ? 1 : 2);
        set->object = (unsigned)base->constant.handle;
        return;
    }
    if (base == build->function->event || base->op == IR_ARGUMENTS || base->op == IR_REGISTERS)
        build_fail(build, "the event's fields cannot be assigned to; use a local");
    if (base == ir_nil(build->function))
        fail_nil(build, name);
    if (base->op == IR_CONSTANT && base->constant.kind == CAPTURED_TABLE && field_name(key)) {
        const char *field = build_field_name(build, base, key, name);
        build_fail(build,
                   "a handler cannot assign to '%s' in a table of the script; have %s = up.var(0) outside, and "
                   "%s:set(value) or %s:add(n) here, or up.hash() for a table",
                   field, field, field, field);
    }
    if (!base->block)
        build_fail(build, "a handler cannot change '%s', which belongs to the script; use up.var() or up.hash()",
                   name ? name : "?");
    if (key->op != IR_CONSTANT) {
        build_value(build, IR_SET_ELEMENT, (struct value *[]){base, value, key}, 3);
        return;
    }
    struct value *set = build_value(build, IR_SET_FIELD, (struct value *[]){base, value}, 2);
    set_field_name(build, set, key);
}
