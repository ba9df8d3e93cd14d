#include "probe/parameters.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/passing.h"
#include "probe/debug.h"
#include "sym/debugtypes.h"

enum { MAX_PARAMETERS = 255, MAX_FUNCTIONS = 64, DEEPEST = 16 };

static const char purpose[] = "by which the arguments of its functions have names";

/* --- types as the calling convention sees them --- */

/* What a struct consists of, as far as has been seen. */
struct leaves {
    struct passing_type *type;
    uint64_t base;
    int depth;
};

static void add_leaves(struct leaves *leaves, uint32_t number, uint64_t at);

static int visit_field(const struct debugfield *field, void *context)
{
    struct leaves *leaves = context;
    add_leaves(leaves, field->type, leaves->base + field->offset);
    return leaves->type->leaf_count > PASSING_LEAVES;
}

static void add_leaf(struct passing_type *type, uint64_t offset, unsigned size, bool floating)
{
    for (size_t i = 0; i < type->leaf_count && i < PASSING_LEAVES; i++) /* of a union, or bits of one number */
        if (type->leaves[i].offset == offset && type->leaves[i].size == size && type->leaves[i].floating == floating)
            return;
    if (type->leaf_count < PASSING_LEAVES)
        type->leaves[type->leaf_count] = (struct passing_leaf){offset, size, floating};
    type->leaf_count++;
}

static void add_leaves(struct leaves *leaves, uint32_t number, uint64_t at)
{
    struct debugtype type;
    char name[DEBUGTYPE_NAME];
    if (debugtype_get(number, &type) || leaves->depth == DEEPEST || leaves->type->leaf_count > PASSING_LEAVES)
        return;
    struct leaves inner = {leaves->type, at, leaves->depth + 1};
    if (type.kind == DEBUGTYPE_STRUCT) {
        debugtype_fields(number, visit_field, &inner);
    } else if (type.kind == DEBUGTYPE_ARRAY) {
        struct debugtype element;
        for (uint64_t i = 0; i < type.count && i <= PASSING_LEAVES && !debugtype_get(type.element, &element); i++)
            add_leaves(&inner, type.element, at + i * element.size);
    } else {
        bool floating = type.kind == DEBUGTYPE_FLOAT;
        leaves->type->x87 |= floating && type.size == 16 && !strcmp(debugtype_name(number, name), "long double");
        add_leaf(leaves->type, at, (unsigned)type.size, floating);
    }
}

/* Without a size where it is nothing that is known here. */
static struct passing_type passing_type_of(uint32_t number)
{
    struct passing_type passing = {0};
    struct debugtype type = {0};
    debugtype_get(number, &type);
    if (type.kind == DEBUGTYPE_OTHER || type.kind == DEBUGTYPE_VOID || type.kind == DEBUGTYPE_ARRAY)
        return passing;
    passing.size = type.size;
    passing.aggregate = type.kind == DEBUGTYPE_STRUCT;
    passing.by_address = type.by_address;
    add_leaves(&(struct leaves){.type = &passing}, number, 0);
    if (passing.leaf_count > PASSING_LEAVES) { /* more than 16 bytes have, unless a union has many names for the same */
        passing.leaf_count = 0;
        passing.size = passing.size > 16 ? passing.size : 0;
    }
    return passing;
}

/* --- one parameter --- */

static void nowhere(struct argument *argument, struct arena *arena, const char *why)
{
    argument->place = ARGUMENT_NOWHERE;
    argument->type = arena_string(arena, why, strlen(why));
}

/* Sets where ARGUMENT, PASSED in a register or on the stack, is found. */
static void place(struct argument *argument, const struct passed *passed, bool at_return, struct arena *arena)
{
    if (passed->in == PASSED_INTEGERS) {
        argument->place = ARGUMENT_CONTEXT;
        argument->offset = arch_argument(passed->first);
    } else if (passed->in == PASSED_STACK && !at_return) {
        argument->place = ARGUMENT_MEMORY;
        argument->base = (uint32_t)arch_stack_pointer();
        argument->offset = (int64_t)passed->offset;
    } else if (passed->in == PASSED_STACK) {
        nowhere(argument, arena, "it is passed on the stack, where a uprobe finds it, but not the function's return");
    } else {
        nowhere(argument, arena, "it, or one before it, is of a type for which it is not known where it is passed");
    }
}

/* Why a struct that is PASSED by value is not there. */
static const char *explain_value(struct arena *arena, const char *type, uint64_t size, const struct passed *passed)
{
    if (passed->in == PASSED_ADDRESS)
        return arena_format(arena, "it is a '%s' passed by value, as the address e.arg%u of a copy", type, passed->first);
    if (passed->in == PASSED_INTEGERS && passed->count == 1)
        return arena_format(arena, "it is a '%s' of %llu bytes passed by value, which are e.arg%u", type, (unsigned long long)size, passed->first);
    if (passed->in == PASSED_INTEGERS)
        return arena_format(arena, "it is a '%s' of %llu bytes passed by value, which are e.arg%u and e.arg%u", type, (unsigned long long)size,
                            passed->first, passed->first + 1);
    return arena_format(arena, "it is a '%s' of %llu bytes passed by value, %s", type, (unsigned long long)size,
                        passed->in == PASSED_STACK ? "on the stack" : "in registers for floating-point numbers");
}

static struct argument argument_of(const struct debugfield *parameter, struct passing *passing, bool at_return, struct arena *arena)
{
    struct argument argument = {.name = *parameter->name ? arena_string(arena, parameter->name, strlen(parameter->name)) : NULL};
    struct passing_type passed_type = passing_type_of(parameter->type);
    struct passed passed = passing_next(passing, &passed_type);
    struct debugtype type = {0};
    char name[DEBUGTYPE_NAME];
    debugtype_get(parameter->type, &type);
    debugtype_name(parameter->type, name);
    argument.type = arena_string(arena, name, strlen(name));
    argument.bits = type.bits;
    switch (type.kind) {
    case DEBUGTYPE_INTEGER:
    case DEBUGTYPE_BOOLEAN:
        argument.kind = type.kind == DEBUGTYPE_BOOLEAN ? ARGUMENT_BOOLEAN : ARGUMENT_INTEGER;
        if (type.size > 8)
            nowhere(&argument, arena, arena_format(arena, "it is a '%s' of 128 bits, which handlers cannot compute with", name));
        else
            place(&argument, &passed, at_return, arena);
        break;
    case DEBUGTYPE_POINTER:
        argument.kind = ARGUMENT_POINTER;
        argument.bits = 64;
        argument.debug = parameter->type;
        place(&argument, &passed, at_return, arena);
        break;
    case DEBUGTYPE_STRUCT:
        nowhere(&argument, arena, explain_value(arena, name, type.size, &passed));
        break;
    default:
        nowhere(&argument, arena, arena_format(arena, "it is a '%s', which handlers cannot compute with", name));
    }
    return argument;
}

static struct argument result_of(uint32_t number, struct arena *arena)
{
    struct argument result = {.place = ARGUMENT_NOWHERE, .type = "void"};
    struct debugtype type = {0};
    char name[DEBUGTYPE_NAME];
    if (!number)
        return result;
    debugtype_get(number, &type);
    debugtype_name(number, name);
    result.type = arena_string(arena, name, strlen(name));
    result.bits = type.kind == DEBUGTYPE_POINTER ? 64 : type.bits;
    bool is_number = type.kind == DEBUGTYPE_INTEGER || type.kind == DEBUGTYPE_BOOLEAN;
    if (type.kind == DEBUGTYPE_POINTER || (is_number && type.size <= 8))
        result.place = ARGUMENT_CONTEXT;
    result.kind = type.kind == DEBUGTYPE_POINTER ? ARGUMENT_POINTER : type.kind == DEBUGTYPE_BOOLEAN ? ARGUMENT_BOOLEAN : ARGUMENT_INTEGER;
    return result;
}

/* --- one function --- */

/* gcc's name for a function that it has made another one of, with parameters left out, split or replaced. */
static const char *variant_in(const char *name)
{
    static const char *const marks[] = {".isra.", ".constprop.", ".part.", ".cold"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strstr(name, marks[i]))
            return marks[i];
    return NULL;
}

static int check(const struct site *site, const struct debugfunction *function, struct error *err)
{
    if (variant_in(site->function) || function->own_convention)
        return error_set(err, -EOPNOTSUPP, "%s: the compiler has made this function from the one in the source, and its parameters may be others: "
                         "e.arg0 … are what the registers hold", site->function);
    if (function->foreign)
        return error_set(err, -EOPNOTSUPP, "%s is written in %s, whose functions get their arguments in a way of their own: e.args knows that of C and "
                         "C++; e.arg0 … are what the registers hold", site->function, function->foreign);
    return 0;
}

static int read_parameters(struct debuginfo *debuginfo, const struct debugfunction *function, bool at_return, struct arena *arena,
                           struct argument **arguments, size_t *count)
{
    struct passing_type result = passing_type_of(function->result);
    struct passing passing = passing_begin(arch_elf_machine(), &result);
    struct debugfield parameter;
    *arguments = arena_allocate(arena, MAX_PARAMETERS * sizeof **arguments);
    for (*count = 0; *count < MAX_PARAMETERS; ++*count) {
        int code = debugfunction_parameter(debuginfo, function, (unsigned)*count, &parameter);
        if (code)
            return code == -ERANGE ? 0 : code;
        (*arguments)[*count] = argument_of(&parameter, &passing, at_return, arena);
    }
    return 0;
}

/* What is looked for of a function: its parameters, if ARGUMENTS is not NULL, or what it returns. */
struct wanted {
    bool at_return;
    struct argument **arguments;
    size_t *count;
    struct argument *returned;
};

static int read_wanted(struct debuginfo *debuginfo, const struct debugfunction *function, const struct wanted *wanted, struct arena *arena)
{
    if (wanted->arguments)
        return read_parameters(debuginfo, function, wanted->at_return, arena, wanted->arguments, wanted->count);
    *wanted->returned = result_of(function->result, arena);
    return 0;
}

static int find_of_site(const struct site *site, const struct wanted *wanted, struct arena *arena, struct error *err)
{
    struct module module = {.path = site->path, .name = site->module};
    struct debugfunction function;
    struct debuginfo *debuginfo;
    struct binary *binary;
    if (site->inside)
        return error_set(err, -EINVAL, "%s+%#llx: e.args is known where a function is entered; inside of it its arguments may be anywhere",
                         site->function, (unsigned long long)site->inside);
    int result = binary_open(&module, &binary, err);
    if (result)
        return result;
    result = debug_keep(binary, site->function, purpose, &debuginfo, err);
    if (!result && debugfunction_at(debuginfo, site->address - site->slid, &function))
        result = error_set(err, -ENOENT, "%s: the debug information of %s does not describe this function; compile its file with -g",
                           site->function, site->module);
    if (!result)
        result = check(site, &function, err);
    if (!result && read_wanted(debuginfo, &function, wanted, arena))
        result = error_set(err, -EINVAL, "%s: the debug information of %s is damaged", site->function, site->module);
    binary_close(binary);
    return result;
}

/* --- several --- */

static bool are_equal(const struct argument *a, const struct argument *b)
{
    bool named = a->name && b->name ? !strcmp(a->name, b->name) : a->name == b->name;
    return named && a->place == b->place && a->offset == b->offset && a->kind == b->kind && a->bits == b->bits && !strcmp(a->type, b->type);
}

int parameters_find(const struct sites *sites, bool at_return, struct arena *arena, const struct argument **arguments, size_t *count,
                    struct error *err)
{
    struct argument *first = NULL, *other;
    size_t others;
    if (sites->count > MAX_FUNCTIONS)
        return error_set(err, -E2BIG, "e.args of %zu functions: those of at most %d are compared, which have to be the same; e.arg0 … are there "
                         "for all", sites->count, MAX_FUNCTIONS);
    *count = 0;
    for (size_t i = 0; i < sites->count; i++) {
        struct wanted wanted = {.at_return = at_return, .arguments = i ? &other : &first, .count = i ? &others : count};
        int result = find_of_site(&sites->items[i], &wanted, arena, err);
        bool same = !result && (!i || others == *count);
        for (size_t n = 0; i && same && n < others; n++)
            same = are_equal(&first[n], &other[n]);
        if (result)
            return result;
        if (!same)
            return error_set(err, -EINVAL, "%s and %s have other arguments than each other: e.args of several functions needs the same ones; give each a "
                             "probe of its own", sites->items[0].function, sites->items[i].function);
    }
    *arguments = first;
    return 0;
}

int parameters_result(const struct sites *sites, struct arena *arena, struct argument *result, struct error *err)
{
    if (!sites->count || sites->count > MAX_FUNCTIONS)
        return error_set(err, -E2BIG, "what %zu functions return is not compared", sites->count);
    for (size_t i = 0; i < sites->count; i++) {
        struct argument other;
        int code = find_of_site(&sites->items[i], &(struct wanted){.returned = i ? &other : result}, arena, err);
        if (code)
            return code;
        if (i && (other.place != result->place || other.kind != result->kind || other.bits != result->bits))
            return error_set(err, -EINVAL, "%s and %s return other types than each other", sites->items[0].function, sites->items[i].function);
    }
    return 0;
}
