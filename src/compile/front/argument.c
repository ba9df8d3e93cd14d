/* The probe's own arguments: found by name, typed as declared, read where they are. */
#include "base/argument.h"

#include <string.h>

#include "base/suggest.h"
#include "compile/front/build.h"
#include "compile/infer/ctype_btf.h"
#include "compile/infer/ctype_dwarf.h"
#include "compile/infer/typed_memory.h"
#include "compile/lower/user_memory.h"
#include "probe/args/parameters.h"

/* --- types --- */

/* What a pointer leads to or an array is; NULL where nobody knows. */
static const struct ctype *ctype_of_argument(struct build *build, const struct argument *argument)
{
    const char *name = argument->type;
    int handle = argument->btf ? kernel_ctype_of(argument->btf) : argument->debug ? debug_ctype_of(argument->debug) : 0;
    if (handle)
        return ctype_of(build->compiler, handle);
    if (argument->kind == ARGUMENT_ARRAY)
        name = arena_format(build->arena, "%sint%d_t [%u]", argument->bits < 0 ? "" : "u",
                            argument->bits < 0 ? -argument->bits : argument->bits, argument->size);
    return name ? ctype_find(build->compiler, name) : NULL;
}

static struct type integer_type(int bits)
{
    return (struct type){.kind = bits == 64 ? TYPE_U64 : TYPE_I64,
                         .bits = (int8_t)(bits > -64 && bits < 64 ? bits : 0)};
}

static struct type type_of(struct build *build, const struct argument *argument)
{
    struct type type = {0};
    switch (argument->kind) {
    case ARGUMENT_INTEGER:
        type = integer_type(argument->bits);
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
    case ARGUMENT_ARRAY: /* lies in the context, which is the kernel's */
        type = (struct type){.kind = TYPE_POINTER, .ctype = ctype_of_argument(build, argument), .kernel = true};
        break;
    }
    if (type.kind == TYPE_POINTER && !type.ctype)
        type = integer_type(64);
    if (argument->place == ARGUMENT_MEMORY)
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
    if (parameters_find(handler->sites, probe_kind_of(handler->kind)->of_return, build->arena, &handler->arguments,
                        &handler->argument_count, &err))
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
                   probe_kind_of(handler->kind)->name, handler->probe, handler->argument_count);
}

static _Noreturn void fail_unknown(struct build *build, const char *name)
{
    const struct handler *handler = build->function->handler;
    const struct probe_kind *kind = probe_kind_of(handler->kind);
    struct suggest suggest;
    char text[4 * SUGGEST_LENGTH];
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
        list = suggest_text(&suggest, text, sizeof text);
    if (!*list && kind->numbered)
        build_fail(build, "the arguments of %s %s have no names: e.arg0 is the first", kind->name, handler->probe);
    build_fail(build, "%s %s has no %s '%s'%s", kind->name, handler->probe, kind->arguments, name, list);
}

struct value *argument_value(struct build *build, const struct event_field *field)
{
    const struct argument *argument = field->argument;
    if (argument->place == ARGUMENT_NOWHERE)
        build_fail(build, "the %s '%s' of %s cannot be read in a handler: %s",
                   probe_kind_of(build->function->handler->kind)->arguments, field->name,
                   build->function->handler->probe, argument->type);
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

/* --- reading it --- */

static struct operand context_address(struct lower *lower, int64_t offset)
{
    return offset ? machine_alu(lower->program, BPF_ADD, lower->context, operand_immediate(offset)) : lower->context;
}

/* Where the bytes of a __data_loc or __rel_loc lie: its word holds their offset in the low half and their number in the
 * high one. */
static struct operand dynamic_address(struct lower *lower, const struct argument *argument)
{
    struct program *program = lower->program;
    struct operand word = machine_load(program, BPF_W, lower->context, argument->offset);
    struct operand offset = machine_alu(program, BPF_AND, word, operand_immediate(0xffff));
    struct operand base = context_address(lower, argument->place == ARGUMENT_REL_LOC ? argument->offset + 4 : 0);
    return machine_alu(program, BPF_ADD, base, offset);
}

/* ADDRESS, in the context, as a number: the verifier lets nobody multiply the address of a context, or add what it
 * knows nothing of. */
static struct operand as_number(struct lower *lower, struct operand address)
{
    struct program *program = lower->program;
    struct slot *from = program_slot(program, 8), *to = program_slot(program, 8);
    struct operand args[] = {operand_slot(to, 0), operand_immediate(8), operand_slot(from, 0)};
    machine_store(program, BPF_DW, operand_slot(from, 0), 0, address);
    machine_call(program, BPF_FUNC_probe_read_kernel, args, 3);
    return machine_load(program, BPF_DW, operand_slot(to, 0), 0);
}

/* The number that ACCESS finds OFFSET bytes into the context. */
static struct operand load_context(struct lower *lower, const struct argument *argument, const struct access *access)
{
    uint32_t bytes = access_bytes(access);
    if (probe_kind_of(lower->function->handler->kind)->program_type == BPF_PROG_TYPE_TRACING) {
        /* A load would be a pointer to the verifier, with which little can be computed. */
        struct operand number = operand_immediate(argument->offset / 8);
        struct operand word = probe_call_for_word(lower, BPF_FUNC_get_func_arg, &number);
        if (bytes == 8 && argument->kind != ARGUMENT_BOOLEAN)
            return word;
        struct slot *slot = program_slot(lower->program, 8);
        machine_store(lower->program, BPF_DW, operand_slot(slot, 0), 0, word);
        return read_loaded(lower, access, operand_slot(slot, 0), 0);
    }
    if (argument->offset % bytes == 0)
        return read_loaded(lower, access, lower->context, argument->offset);
    /* Loads of a context are aligned. */
    struct slot *slot = program_slot(lower->program, 8);
    struct operand args[] = {operand_slot(slot, 0), operand_immediate(bytes), context_address(lower, argument->offset)};
    machine_store(lower->program, BPF_DW, operand_slot(slot, 0), 0, operand_immediate(0));
    machine_call(lower->program, BPF_FUNC_probe_read_kernel, args, 3);
    return read_loaded(lower, access, operand_slot(slot, 0), 0);
}

static struct operand load_register(struct lower *lower, const struct argument *argument, const struct access *access)
{
    struct program *program = lower->program;
    struct slot *slot = program_slot(program, 8);
    struct operand registers = machine_load(program, BPF_DW, lower->context, argument->base);
    if (argument->offset)
        registers = machine_alu(program, BPF_ADD, registers, operand_immediate(argument->offset));
    struct operand args[] = {operand_slot(slot, 0), operand_immediate(8), registers};
    machine_call(program, BPF_FUNC_probe_read_kernel, args, 3);
    return read_loaded(lower, access, operand_slot(slot, 0), 0);
}

struct operand argument_word(struct lower *lower, const struct argument *argument)
{
    static const struct ctype boolean = {.kind = CTYPE_BOOLEAN};
    struct access access = {.bits = argument->bits, .type = argument->kind == ARGUMENT_BOOLEAN ? &boolean : NULL};
    if (argument->place == ARGUMENT_CONSTANT)
        return operand_immediate((int64_t)argument->number);
    if (argument->place == ARGUMENT_REGISTERS)
        return load_register(lower, argument, &access);
    return load_context(lower, argument, &access);
}

static void read_memory(struct lower *lower, struct value *value)
{
    const struct argument *argument = value->event->argument;
    struct operand address = machine_load(lower->program, BPF_DW, lower->context, argument->base);
    if (argument->offset)
        address = machine_alu(lower->program, BPF_ADD, address, operand_immediate(argument->offset));
    if (argument->index_bits) {
        struct operand index =
            read_loaded(lower, &(struct access){.bits = argument->index_bits}, lower->context, argument->index);
        if (argument->shift)
            index = machine_alu(lower->program, BPF_LSH, index, operand_immediate(argument->shift));
        address = machine_alu(lower->program, BPF_ADD, address, index);
    }
    read_at(lower, value, address, argument->bits, argument->kernel);
}

void argument_lower(struct lower *lower, struct value *value)
{
    const struct argument *argument = value->event->argument;
    struct place *place = lower_place(lower, value);
    bool dynamic = argument->place == ARGUMENT_DATA_LOC || argument->place == ARGUMENT_REL_LOC;
    if (argument->kind == ARGUMENT_STRING) {
        string_read_kernel(lower, value, argument->size, !dynamic,
                           dynamic ? dynamic_address(lower, argument) : context_address(lower, argument->offset));
    } else if (argument->kind == ARGUMENT_ARRAY) {
        place->value = as_number(lower, context_address(lower, argument->offset));
    } else if (argument->place == ARGUMENT_MEMORY) {
        read_memory(lower, value);
    } else {
        place->value = argument_word(lower, argument);
        if (value->type.kind == TYPE_POINTER)
            place->present = place->value;
    }
}
