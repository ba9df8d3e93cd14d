/* The probe's own arguments: found by name, typed as declared. lower/argument_read.c reads them. */
#include "base/argument.h"

#include <string.h>

#include "base/suggest.h"
#include "compile/front/build.h"
#include "compile/infer/ctype.h"
#include "compile/infer/ctype_btf.h"
#include "compile/infer/ctype_dwarf.h"
#include "compile/ir/fold.h"

/* --- types --- */

/* What a pointer leads to or an array is; NULL where nobody knows. */
static const struct ctype *ctype_of_argument(struct build *build, const struct argument *argument)
{
    const char *name = argument->type;
    int handle = argument->btf                       ? kernel_ctype_of(argument->btf)
                 : argument->kind == ARGUMENT_OBJECT ? debug_ctype_to(argument->debug)
                 : argument->debug                   ? debug_ctype_of(argument->debug)
                                                     : 0;
    if (handle)
        return ctype_of(build->compiler, handle);
    if (argument->kind == ARGUMENT_ARRAY)
        name = arena_format(build->arena, "%sint%d_t [%u]", argument->bits < 0 ? "" : "u",
                            argument->bits < 0 ? -argument->bits : argument->bits, argument->size);
    return name ? ctype_find(build->compiler, name) : NULL;
}

static struct type type_of(struct build *build, const struct argument *argument)
{
    struct type type = {0};
    bool loads = argument->in_memory && argument->kind != ARGUMENT_OBJECT;
    for (size_t i = 0; i < argument->step_count; i++)
        loads |= argument->steps[i].operation == ARGUMENT_LOAD || argument->steps[i].operation == ARGUMENT_PASSED ||
                 argument->steps[i].operation == ARGUMENT_RETURN;
    switch (argument->kind) {
    case ARGUMENT_INTEGER:
        type = type_of_bits(argument->bits);
        break;
    case ARGUMENT_BOOLEAN:
        type.kind = TYPE_BOOLEAN;
        break;
    case ARGUMENT_STRING: /* of the record: the last byte of a buffer is no text */
        type.kind = TYPE_STRING;
        type.capacity = (argument->size + (argument->place == ARGUMENT_CONTEXT ? 8 : 7)) & ~7u;
        break;
    case ARGUMENT_POINTER:
        type = (struct type){.kind = TYPE_POINTER,
                             .optional = true,
                             .ctype = ctype_of_argument(build, argument),
                             .kernel = argument->kernel};
        break;
    case ARGUMENT_OBJECT:
        type = (struct type){.kind = TYPE_POINTER, .optional = loads, .ctype = ctype_of_argument(build, argument)};
        break;
    case ARGUMENT_ARRAY: /* lies in the context, which is the kernel's */
        type = (struct type){.kind = TYPE_POINTER, .ctype = ctype_of_argument(build, argument), .kernel = true};
        break;
    }
    if (type.kind == TYPE_POINTER && !type.ctype)
        type = type_of_bits(64);
    if (argument->place == ARGUMENT_MEMORY || loads)
        type.optional = true;
    return type;
}

/* --- finding one --- */

/* The handler's arguments as fields of its event. */
static void list_arguments(struct function *function)
{
    const struct handler *handler = function->handler;
    function->given = arena_allocate(function->arena, (handler->argument_count + 1) * sizeof *function->given);
    for (size_t i = 0; i < handler->argument_count; i++) {
        const struct argument *argument = &handler->arguments[i];
        function->given[i] = (struct event_field){
            .name = argument->name ? argument->name : arena_format(function->arena, "arg%zu", i),
            .source = EVENT_GIVEN,
            .argument = argument,
            .of_entry = true,
        };
    }
}

void argument_prepare(struct build *build)
{
    struct function *function = build->function;
    function->arguments = ir_append(function, NULL, IR_ARGUMENTS, NULL, NULL, 0);
    function->arguments->type.kind = TYPE_STATIC;
    function->variables = ir_append(function, NULL, IR_ARGUMENTS, NULL, NULL, 0);
    function->variables->type.kind = TYPE_STATIC;
    function->variables->number = 1;
    list_arguments(function);
}

/* Has the arguments of a program's functions looked for in its debug information, which takes a while: not before one
 * is asked for. */
static void find_parameters(struct build *build)
{
    struct handler *handler = build->function->handler;
    struct error err = {0};
    if (!handler->sites || handler->arguments_known)
        return;
    handler->arguments_known = true;
    if (build->function->options->find_arguments(handler->sites, handler->provider->pairing != NULL, build->arena,
                                                 &handler->arguments, &handler->argument_count, &err))
        build_fail(build, "%s", err.text);
    list_arguments(build->function);
}

const struct event_field *argument_numbered(struct build *build, const char *name)
{
    const struct function *function = build->function;
    for (size_t i = 0; i < function->handler->argument_count; i++)
        if (!strcmp(name, arena_format(build->arena, "arg%zu", i)))
            return &function->given[i];
    return NULL;
}

void argument_refuse(struct build *build, const char *name)
{
    const struct handler *handler = build->function->handler;
    if (!strncmp(name, "arg", 3) && name[3] && !name[3 + strspn(name + 3, "0123456789")])
        build_fail(build,
                   handler->argument_count ? "%s %s has %zu arguments, which begin with e.arg0"
                                           : "%s %s has no arguments",
                   handler->provider->name, handler->probe, handler->argument_count);
}

static _Noreturn void fail_unknown(struct build *build, const char *name)
{
    const struct handler *handler = build->function->handler;
    const struct provider *provider = handler->provider;
    struct suggest suggest;
    const char *list = "";
    suggest_init(&suggest, name);
    for (size_t i = 0; i < handler->argument_count; i++) {
        const char *other = handler->arguments[i].name;
        if (!other || handler->arguments[i].place == ARGUMENT_NOWHERE)
            continue;
        suggest_offer(&suggest, other, strlen(other));
        list = arena_format(build->arena, "%s%s%s", list, *list ? ", " : "; it has ", other);
    }
    if (suggest.count)
        list = suggest_text(&suggest);
    if (!*list && provider->numbered)
        build_fail(build, "the arguments of %s %s have no names: e.arg0 is the first", provider->name, handler->probe);
    build_fail(build, "%s %s has no %s '%s'%s", provider->name, handler->probe, provider->arguments, name, list);
}

struct value *argument_value(struct build *build, const struct event_field *field)
{
    const struct argument *argument = field->argument;
    if (argument->place == ARGUMENT_NOWHERE)
        build_fail(build, "the %s '%s' of %s cannot be read in a handler: %s",
                   build->function->handler->provider->arguments, field->name, build->function->handler->probe,
                   argument->type);
    for (size_t i = 0; argument->place == ARGUMENT_COMPUTED && i < argument->step_count; i++)
        if (argument->steps[i].operation == ARGUMENT_THREAD && !build->function->options->task_thread())
            build_fail(build,
                       "'%s' is _Thread_local, and where this kernel has a thread's pointer is not known: "
                       "it describes its types (/sys/kernel/btf/vmlinux) no more than that",
                       field->name);
    struct value *value = build_value(build, IR_EVENT_FIELD, NULL, 0);
    value->event = field;
    value->name = field->name;
    value->type = type_of(build, argument);
    return value;
}

struct value *argument_index(struct build *build, const char *name)
{
    const struct handler *handler = build->function->handler;
    if (!name)
        build_fail(build, "e.args has names that are known when the handler is compiled: e.args.NAME");
    find_parameters(build);
    for (size_t i = 0; i < handler->argument_count; i++)
        if (handler->arguments[i].name && !strcmp(handler->arguments[i].name, name))
            return argument_value(build, &build->function->given[i]);
    fail_unknown(build, name);
}

/* --- e.vars --- */

/* The variable NAME as a field of the event, always the same one. */
static const struct event_field *find_variable(struct build *build, const char *name)
{
    struct function *function = build->function;
    struct error err = {0};
    const struct argument *found;
    size_t count;
    for (size_t i = 0; i < function->variable_count; i++)
        if (!strcmp(function->variable[i]->name, name))
            return function->variable[i];
    if (!function->handler->sites)
        build_fail(build, "where this handler's probe stands is not known, so that it has no e.vars");
    /* Places are those of the instruction where the probe stands: it slides no more. */
    if (function->handler->stand.slid)
        function->options->stand_at_entry(function->handler->sites);
    function->handler->stand.slid = 0;
    if (function->options->find_variable(function->handler->sites, name, build->arena, &found, &count, &err) || !count)
        build_fail(build, "%s", err.text);
    struct event_field *field = arena_allocate(build->arena, sizeof *field);
    *field = (struct event_field){
        .name = arena_string(build->arena, name, strlen(name)), .source = EVENT_GIVEN, .argument = found};
    function->variable =
        arena_grow(build->arena, function->variable, function->variable_count, sizeof *function->variable);
    return function->variable[function->variable_count++] = field;
}

/* What KEY of BASE, e.vars or one of its structs that is in parts, is called: "list", "list[2]", "list[2].size". */
static const char *path_of(struct build *build, const struct value *base, const struct value *key)
{
    const char *name =
        key->op == IR_CONSTANT && key->constant.kind == CAPTURED_STRING ? key->constant.string.bytes : NULL;
    if (base->name && fold_is_number(key))
        return arena_format(build->arena, "%s[%lld]", base->name,
                            (long long)fold_integer(build->function, key, build->position));
    if (!name)
        build_fail(build, "e.vars has names that are known when the handler is compiled: e.vars.NAME");
    return base->name ? arena_format(build->arena, "%s.%s", base->name, name) : name;
}

/* A struct or an array is what a pointer to it has as [0], so that the same holds for it as for fields. */
struct value *argument_variable(struct build *build, const struct value *base, const struct value *key)
{
    const struct event_field *field = find_variable(build, path_of(build, base, key));
    if (field->argument->parts) {
        struct value *parts = ir_append(build->function, NULL, IR_ARGUMENTS, build->position, NULL, 0);
        parts->type.kind = TYPE_STATIC;
        parts->number = base->number;
        parts->name = field->name;
        return parts;
    }
    struct value *value = argument_value(build, field);
    if (field->argument->kind != ARGUMENT_OBJECT || !field->argument->size || value->type.kind != TYPE_POINTER)
        return value;
    struct value *object = build_value(build, IR_GET_FIELD, &value, 1);
    object->number = 0;
    return object;
}
