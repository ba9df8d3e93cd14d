/*
 * printf and exit: what a handler says to the script. The arguments of printf travel as a tuple through the ring of
 * OBJECT_OUTPUT; the text is made in user space (lua/uplua/objects/output.lua), by the rules of Lua's string.format.
 * Constants do not travel. The compiler checks a format against its arguments here.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "compile/front/build.h"
#include "compile/infer/ctype.h"
#include "compile/ir/fold.h"

static bool wants_number(char conversion)
{
    return strchr("diouxXceEfFgGaA", conversion) != NULL;
}

/* A pointer prints as its address. */
static bool is_word(struct type type)
{
    return type_is_number(type) || type.kind == TYPE_POINTER;
}

/* True for a char *; what is no text prints as the address that it is. */
static bool leads_to_text(struct compiler *compiler, const struct position *position, struct type type)
{
    if (type.ctype->kind != CTYPE_POINTER)
        return false;
    const struct ctype *element = ctype_element(compiler, position, type.ctype);
    return element->kind == CTYPE_INTEGER && abs(element->bits) == 8;
}

static void check_argument(struct compiler *compiler, const struct position *position, char conversion, size_t number,
                           const struct value *value)
{
    struct type type = value->type;
    if (conversion == 's' && type.kind == TYPE_POINTER && leads_to_text(compiler, position, type))
        compile_fail(compiler, position, "printf: argument %zu is %s, an address: up.str(p) is the text there", number,
                     ir_describe(&compiler->arena, value));
    if (conversion == 's' || (wants_number(conversion) ? is_word(type) : type.kind == TYPE_STRING && !type.bytes))
        return;
    compile_fail(compiler, position, "printf: %%%c needs %s, argument %zu is %s", conversion,
                 wants_number(conversion) ? "an integer" : "a string", number,
                 type.kind == TYPE_NIL ? "always nil" : ir_describe(&compiler->arena, value));
}

/* Passes over one conversion, whose % is at FORMAT[AT]; *LETTER is what it converts to, '%' for "%%". */
static size_t conversion_at(struct build *build, const char *format, size_t length, size_t at, char *letter)
{
    size_t start = at++, digits;
    while (at < length && strchr("-+ #0", format[at]) && format[at])
        at++;
    for (digits = 0; at < length && isdigit((unsigned char)format[at]); at++)
        digits++;
    size_t widest = digits;
    if (at < length && format[at] == '.')
        for (digits = 0, at++; at < length && isdigit((unsigned char)format[at]); at++)
            digits++;
    widest = digits > widest ? digits : widest;
    *letter = at < length ? format[at] : '\0';
    bool percent = *letter == '%' && at == start + 1;
    if (widest > 2 || !*letter || !(percent || wants_number(*letter) || *letter == 's' || *letter == 'q'))
        build_fail(
            build,
            "printf: '%.*s' is no conversion; there are %%s, %%q, %%d, %%u, %%x, %%o, %%c, %%f, %%e, %%g and %%%%, "
            "with widths of two digits",
            (int)(at < length ? at + 1 - start : length - start), format + start);
    return at + 1;
}

/* The conversions of FORMAT but "%%", as PRINT's arguments. */
static struct print *print_new(struct build *build, const struct captured *format)
{
    struct print *print = arena_allocate(build->arena, sizeof *print);
    print->format = format->string.bytes;
    print->length = format->string.length;
    print->args = arena_allocate(build->arena, (print->length + 1) * sizeof *print->args);
    for (size_t at = 0; at < print->length;) {
        char letter;
        if (print->format[at] != '%') {
            at++;
            continue;
        }
        at = conversion_at(build, print->format, print->length, at, &letter);
        if (letter != '%')
            print->args[print->count++].conversion = letter;
    }
    return print;
}

static unsigned output_of(struct build *build)
{
    struct compiler *compiler = build->compiler;
    for (size_t i = 0; i < compiler->object_count; i++)
        if (compiler->objects[i]->kind == OBJECT_OUTPUT) {
            compiler->objects[i]->used = true;
            compiler->objects[i]->name = "output";
            return (unsigned)i;
        }
    build_fail(build, "printf and exit are not available in handlers here");
}

/* Such constants travel all the same: Lua's C interface could not hand them over. */
static bool is_cdata(const struct captured *constant)
{
    return constant->kind == CAPTURED_I64 || constant->kind == CAPTURED_U64;
}

void build_printf(struct build *build, struct value **args, size_t count)
{
    if (!count || args[0]->op != IR_CONSTANT || args[0]->constant.kind != CAPTURED_STRING)
        build_fail(build, "printf: the format is a string that is known when the handler is compiled");
    struct print *print = print_new(build, &args[0]->constant);
    if (print->count != count - 1)
        build_fail(build, "printf: the format has %zu conversion%s, but there %s %zu value%s", print->count,
                   print->count == 1 ? "" : "s", count == 2 ? "is" : "are", count - 1, count == 2 ? "" : "s");
    /* What is emitted: the record, and for the error's sake what must not be nil. */
    struct value **emitted = arena_allocate(build->arena, count * sizeof *emitted);
    size_t emitted_count = 1;
    emitted[0] = build_record(build);
    for (size_t i = 0; i < print->count; i++) {
        struct print_argument *argument = &print->args[i];
        struct value *value = argument->value = args[i + 1];
        if (value->type.kind == TYPE_STATIC)
            build_fail(build,
                       "printf: argument %zu is %s; a handler prints integers, strings, booleans, stacks and records",
                       i + 2, ir_describe(build->arena, value));
        if (value->op == IR_CONSTANT && !is_cdata(&value->constant)) {
            argument->constant = &value->constant;
            continue;
        }
        build_assign(build, emitted[0], ir_number(build->function, (double)i + 1), value, NULL);
        if (argument->conversion != 's')
            emitted[emitted_count++] = value;
    }
    struct value *emit = build_value(build, IR_EMIT, emitted, emitted_count);
    emit->object = output_of(build);
    emit->print = print;
}

static void check_print(struct function *function, const struct value *emit)
{
    for (size_t i = 0; i < emit->print->count; i++) {
        struct print_argument *argument = &emit->print->args[i];
        const struct value *value = ir_value(argument->value);
        argument->is_unsigned = value->type.kind == TYPE_U64 || value->type.kind == TYPE_POINTER;
        check_argument(function->compiler, emit->position, argument->conversion, i + 2, value);
    }
}

static void check_exit(struct function *function, const struct value *end)
{
    const struct value *status = end->arg_count ? ir_value(end->args[0]) : NULL;
    if (status && !type_is_number(status->type) && status->type.kind != TYPE_NIL)
        compile_fail(function->compiler, end->position, "exit: the status is an integer from 0 to 255, not %s",
                     ir_describe(function->arena, status));
}

void output_check(struct function *function)
{
    for (struct block *block = function->entry; block; block = block->following)
        for (struct value *value = block->first; value; value = value->next) {
            if (value->print)
                check_print(function, value);
            if (value->op == IR_EXIT)
                check_exit(function, value);
        }
}

void build_exit(struct build *build, struct value **args, size_t count)
{
    struct value *status = count ? args[0] : ir_nil(build->function);
    if (status->op == IR_CONSTANT && status != ir_nil(build->function)) {
        int64_t number = fold_is_number(status) ? fold_integer(build->function, status, build->position) : -1;
        if (number < 0 || number > 255)
            build_fail(build, "exit: the status is an integer from 0 to 255");
    }
    struct value *end = build_value(build, IR_EXIT, &status, status == ir_nil(build->function) ? 0 : 1);
    end->object = output_of(build);
    build->compiler->exits = true;
    build_value(build, IR_RETURN, NULL, 0);
    build->block = NULL;
}
