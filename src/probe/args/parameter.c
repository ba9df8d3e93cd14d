/* Where one parameter is at a function's entry. */
#include "probe/args/parameter.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "probe/args/convention.h"
#include "probe/args/parameter_entry.h"
#include "sym/debugtypes.h"
#include "sym/location.h"

enum { MAX_PARAMETERS = 255 };
enum {
    GO_FLOATS = 15,
    GO_DEEPEST = 16
}; /* registers for floating-point numbers, at least; structs inside each other */

/* --- by the calling convention --- */

/* An object that is passed by address says so by where it is, which is more than can be said of its class. */
static void correct_class(const struct parameters *all, const struct parameter *parameter, struct passing_type *type)
{
    struct location location;
    bool unknown = !type->aggregate && !type->size; /* a class that is defined elsewhere */
    if ((!type->doubtful && !unknown) || !parameter->debug.instance || parameter_location(all, parameter, &location))
        return;
    enum told told = parameter_told(&location);
    if (told == TOLD_NOTHING || (unknown && told != TOLD_ADDRESS))
        return;
    type->doubtful = false;
    type->by_address = told == TOLD_ADDRESS;
    if (unknown)
        *type = (struct passing_type){.size = 8, .aggregate = true, .by_address = true};
}

/* The type NUMBER as the function's language passes it, INTEGERS registers behind the first. */
static struct passing_type type_of_language(const struct parameters *all, uint32_t number, unsigned integers)
{
    if (!all->function->of_rust)
        return convention_type(number);
    struct passing_type type = convention_rust_type(number);
    bool halved = type.leaf_count == 2 && (int)integers + 1 >= ARCH_MAX_ARGUMENTS; /* one half may be on the stack */
    return halved || (type.leaf_count == 2 && arch_argument(integers + 1) < 0) ? (struct passing_type){0} : type;
}

static int visit_array(const struct debugfield *field, void *context);

/* True if the type NUMBER has an array of several elements, as itself or as a field. */
static bool has_array(uint32_t number, int depth)
{
    struct debugtype type = {0};
    debugtype_get(number, &type);
    if (type.kind == DEBUGTYPE_ARRAY)
        return type.count != 1 || depth == GO_DEEPEST || has_array(type.element, depth + 1);
    return type.kind == DEBUGTYPE_STRUCT &&
           (depth == GO_DEEPEST || debugtype_fields(number, visit_array, &(int){depth + 1}));
}

static int visit_array(const struct debugfield *field, void *context)
{
    return has_array(field->type, *(int *)context);
}

/* What an array of one element consists of, which is passed as that; else NUMBER. */
static uint32_t element_of(uint32_t number)
{
    struct debugtype type = {0};
    for (int depth = 0; depth < GO_DEEPEST && !debugtype_get(number, &type); depth++) {
        if (type.kind != DEBUGTYPE_ARRAY || type.count != 1)
            break;
        number = type.element;
    }
    return number;
}

/* The words that TYPE is, each number of which has a register of its own: 0, it is not made of words alone. */
static unsigned words_of(const struct passing_type *type)
{
    for (size_t i = 0; i < type->leaf_count; i++)
        if (type->leaves[i].floating ||
            (type->aggregate && (type->leaves[i].size != 8 || type->leaves[i].offset != 8 * i)))
            return 0;
    return (unsigned)type->leaf_count;
}

/*
 * Where Go's parameters are: each number that a value consists of is in the next register for its kind; where these do
 * not suffice for all of the value, or it has an array, it is on the stack, and takes none. With the first that is not
 * understood the others are unknown.
 */
static void count_through_go(struct parameters *all)
{
    unsigned integers = 0, floats = 0, most = 0;
    while (arch_go_argument(most) >= 0)
        most++;
    for (size_t i = 0; i < all->count; i++) {
        all->items[i].found = FOUND_LATER;
        all->items[i].passed = (struct passed){.in = PASSED_UNKNOWN};
    }
    for (size_t i = 0; i < all->count; i++) {
        struct parameter *parameter = &all->items[i];
        struct passing_type type = convention_type(element_of(parameter->debug.type));
        unsigned numbers = 0, fractions = 0;
        for (size_t n = 0; n < type.leaf_count && n < PASSING_LEAVES; n++)
            *(type.leaves[n].floating ? &fractions : &numbers) += 1;
        parameter->passed.first = integers;
        parameter->passed.count = words_of(&type);
        bool empty = parameter->type.kind == DEBUGTYPE_STRUCT && !parameter->type.size;
        if (empty || has_array(parameter->debug.type, 0) || integers + numbers > most)
            continue;
        if (!type.leaf_count || type.leaf_count > PASSING_LEAVES || floats + fractions > GO_FLOATS)
            return;
        if (parameter->passed.count)
            parameter->passed.in = PASSED_INTEGERS;
        integers += numbers;
        floats += fractions;
    }
}

/* True if PARAMETER of a function of Rust's is one of its functions, by the debug information a pointer: such a type
 * has no values, and nothing is passed. In its place there is room for a byte; a pointer that is one would have eight.
 */
static bool may_be_no_pointer(const struct parameters *all, const struct parameter *parameter)
{
    struct debugtype type = {0}, element = {0};
    struct location location;
    debugtype_get(parameter->debug.type, &type);
    debugtype_get(type.element, &element);
    return all->function->of_rust && type.kind == DEBUGTYPE_POINTER && element.kind == DEBUGTYPE_OTHER &&
           !element.own && parameter->debug.instance && !parameter_location(all, parameter, &location) &&
           parameter_told(&location) == TOLD_VALUE;
}

static void count_through(struct parameters *all)
{
    struct debugtype returned = {0};
    char name[DEBUGTYPE_NAME];
    debugtype_get(all->function->result, &returned);
    struct passing_type result = type_of_language(all, all->function->result, 0);
    if (all->function->of_rust && result.by_address)
        result.doubtful = false;
    struct passing passing = passing_begin(arch_cpu.elf_machine, returned.kind == DEBUGTYPE_VOID ? NULL : &result);
    if (passing.lost)
        all->unreturned =
            arena_format(all->arena,
                         "the function returns a '%s', of which the debug information does not say whether an address "
                         "for it is passed before the arguments",
                         debugtype_name(all->function->result, name));
    passing.splits_wide =
        all->function->compiler != COMPILER_GCC && all->function->compiler != COMPILER_GCC_UNOPTIMISED;
    for (size_t i = 0; i < all->count; i++) {
        struct passing_type type = type_of_language(all, all->items[i].debug.type, passing.integers);
        if (all->items[i].by_reference)
            type = (struct passing_type){.size = 8, .leaves = {{0, 8, false}}, .leaf_count = 1};
        else
            correct_class(all, &all->items[i], &type);
        if (may_be_no_pointer(all, &all->items[i]))
            type.doubtful = true;
        all->items[i].passed = passing_next(&passing, &type);
    }
}

/* True if debug information has PARAMETER elsewhere than the calling convention. */
static bool is_contradicted(const struct parameter *parameter)
{
    const struct passed *passed = &parameter->passed;
    bool in_register = passed->in == PASSED_INTEGERS || passed->in == PASSED_ADDRESS;
    if (parameter->found == FOUND_REGISTER || parameter->found == FOUND_COMPUTED)
        return !in_register || arch_argument(passed->first) != parameter->offset;
    if (parameter->found == FOUND_MEMORY && parameter->offset == arch_cpu.stack_pointer)
        return passed->in != PASSED_STACK || (int64_t)passed->offset != parameter->number;
    if (parameter->found == FOUND_MEMORY)
        return passed->in != (parameter->by_reference ? PASSED_INTEGERS : PASSED_ADDRESS) ||
               arch_argument(passed->first) != parameter->offset;
    return false;
}

static const char *why_unconventional(const struct parameters *all)
{
    if (all->function->is_closure && all->count && *all->items[0].debug.name)
        return "it is a closure's that captures something, which is passed before the parameters and which the debug "
               "information leaves out";
    if (all->function->of_go)
        return NULL;
    if (all->function->own_convention)
        return "the function is called in a way of its own";
    if (all->function->compiler == COMPILER_FLANG || all->function->compiler == COMPILER_OLD_FLANG)
        return "flang leaves parameters out of its debug information, so that this one's place cannot be told";
    if (all->function->variant)
        return "the compiler has made this function from the one in the source, and may pass it in another way";
    for (size_t i = 0; i < all->count; i++) {
        if (all->items[i].passed.in != PASSED_UNKNOWN && is_contradicted(&all->items[i]))
            return "the compiler passes this function's parameters in another way than others'";
        bool dropped = all->items[i].found == FOUND_NOT || all->items[i].found == FOUND_CONSTANT;
        if (dropped && !all->function->external)
            return "the compiler has left out some of this function's parameters, and may pass it in another way";
    }
    return NULL;
}

/*
 * gcc changes how a function is called only in variants. So another register in the whole of one that is none is where
 * it keeps a parameter once the prologue has run, without a word of before (-fno-var-tracking).
 */
static bool is_of_later(const struct parameters *all, const struct parameter *parameter)
{
    return all->function->compiler == COMPILER_GCC && !all->function->variant && !parameter->ranged &&
           parameter->found == FOUND_REGISTER && parameter->passed.in != PASSED_UNKNOWN && is_contradicted(parameter);
}

/* --- what handlers get --- */

static void nowhere(struct argument *argument, struct arena *arena, const char *why)
{
    argument->place = ARGUMENT_NOWHERE;
    argument->type = arena_string(arena, why, strlen(why));
}

static void in_register(struct argument *argument, int offset)
{
    argument->place = ARGUMENT_CONTEXT;
    argument->offset = offset;
}

static void in_memory(const struct parameters *all, struct argument *argument, int base, int64_t offset)
{
    argument->place = ARGUMENT_MEMORY;
    argument->base = (uint32_t)base;
    argument->offset = offset;
    if (all->at_return && base == arch_cpu.stack_pointer)
        nowhere(argument, all->arena,
                "it is passed on the stack, where a uprobe finds it, but not the function's return");
    else if (all->at_return)
        nowhere(argument, all->arena, "it is in memory, where a uprobe finds it, but not the function's return");
}

/* Sets where ARGUMENT is by the calling convention; UNPLACED tells why it is not there otherwise. */
static void by_convention(const struct parameters *all, const struct parameter *parameter, struct argument *argument)
{
    const struct passed *passed = &parameter->passed;
    if (all->unconventional)
        nowhere(argument, all->arena, all->unconventional);
    else if (passed->in == PASSED_INTEGERS)
        in_register(argument, all->function->of_go ? arch_go_argument(passed->first) : arch_argument(passed->first));
    else if (passed->in == PASSED_STACK)
        in_memory(all, argument, arch_cpu.stack_pointer, (int64_t)passed->offset);
    else if (all->unreturned)
        nowhere(argument, all->arena, all->unreturned);
    else
        nowhere(argument, all->arena,
                "it, or one before it, is of a type for which it is not known where it is passed");
}

static void by_constant(const struct parameters *all, const struct parameter *parameter, struct argument *argument)
{
    nowhere(argument, all->arena,
            arena_format(all->arena,
                         "the function's code has %lld in its place, and the debug information does not say whether "
                         "callers pass the same",
                         (long long)parameter->number));
}

/* Sets where ARGUMENT, a number or an address, is found. */
static void place(const struct parameters *all, const struct parameter *parameter, struct argument *argument)
{
    switch (parameter->found) {
    case FOUND_NOT:
        nowhere(argument, all->arena, parameter->why);
        break;
    case FOUND_CONSTANT:
        by_constant(all, parameter, argument);
        break;
    case FOUND_REGISTER:
        in_register(argument, parameter->offset);
        break;
    case FOUND_MEMORY:
        in_memory(all, argument, parameter->offset, parameter->number);
        break;
    case FOUND_LATER:
    case FOUND_COMPUTED:
        by_convention(all, parameter, argument);
        break;
    }
}

/*
 * True if callers pass all of PARAMETER, a struct in registers: compilers leave out what of it a function that they see
 * never reads. Debug information has it whole then: in code that is not optimised in the frame, else in these
 * registers.
 */
static bool is_passed_whole(const struct parameters *all, const struct parameter *parameter)
{
    struct location location;
    uint64_t at = 0;
    if (all->function->of_go || all->function->compiler == COMPILER_GCC_UNOPTIMISED)
        return true;
    if (!parameter->debug.instance || parameter_location(all, parameter, &location))
        return false;
    if (location.count == 1 && location.pieces[0].kind == LOCATION_IN_MEMORY)
        return parameter->found == FOUND_LATER && !location.ranged && !location.pieces[0].number.loads;
    for (size_t i = 0; i < location.count; i++) {
        const struct location_piece *piece = &location.pieces[i];
        unsigned word = parameter->passed.first + (unsigned)(at / 8);
        if (piece->kind != LOCATION_IN_REGISTER || at % 8 || at / 8 >= parameter->passed.count ||
            parameter_register(piece->number.reg) != arch_argument(word))
            return false;
        at += piece->size ? piece->size : parameter->type.size;
    }
    return at >= parameter->type.size;
}

/* Tells ARGUMENT, a struct that is passed by value, in which of e.argN that is. */
static void by_value(const struct parameters *all, const struct parameter *parameter, struct argument *argument)
{
    const struct passed *passed = &parameter->passed;
    argument->size = parameter->type.size <= UINT32_MAX ? (uint32_t)parameter->type.size : 0;
    argument->first = passed->first;
    if (!all->unconventional && passed->in == PASSED_INTEGERS && is_passed_whole(all, parameter))
        argument->passed = ARGUMENT_IN_WORDS;
    else if (!all->unconventional && passed->in == PASSED_ADDRESS)
        argument->passed = ARGUMENT_AT_ADDRESS;
}

/* Why a struct that is passed by value is not there. */
static const char *explain_value(const struct parameters *all, const struct parameter *parameter, const char *type)
{
    const struct passed *passed = &parameter->passed;
    unsigned long long size = parameter->type.size;
    if (all->unconventional || passed->in == PASSED_UNKNOWN)
        return arena_format(all->arena, "it is a '%s' passed by value", type);
    if (passed->in == PASSED_NOT)
        return arena_format(all->arena, "it is a '%s', which has no members", type);
    if (passed->in == PASSED_ADDRESS)
        return arena_format(all->arena, "it is a '%s' passed by value, as the address e.arg%u of a copy", type,
                            passed->first);
    if (passed->in == PASSED_INTEGERS && passed->count == 1)
        return arena_format(all->arena, "it is a '%s' of %llu bytes passed by value, which are e.arg%u", type, size,
                            passed->first);
    if (passed->in == PASSED_INTEGERS)
        return arena_format(all->arena, "it is a '%s' of %llu bytes passed by value, which are e.arg%u and e.arg%u",
                            type, size, passed->first, passed->first + 1);
    return arena_format(all->arena, "it is a '%s' of %llu bytes passed by value, %s", type, size,
                        passed->in == PASSED_STACK ? "on the stack" : "in registers for floating-point numbers");
}

/* A register, or a word on the stack, that has the address of PARAMETER, which is passed by reference: in *ADDRESS. */
static void place_address(const struct parameters *all, const struct parameter *parameter, struct argument *address)
{
    *address = (struct argument){.place = ARGUMENT_CONTEXT, .offset = parameter->offset};
    if (parameter->found == FOUND_NOT)
        nowhere(address, all->arena, parameter->why);
    else if (parameter->found != FOUND_MEMORY)
        by_convention(all, parameter, address);
}

/* Sets where ARGUMENT is, a number or an address that is passed by reference. */
static void place_referred(const struct parameters *all, const struct parameter *parameter, struct argument *argument)
{
    struct argument address;
    place_address(all, parameter, &address);
    if (address.place != ARGUMENT_NOWHERE && all->at_return)
        nowhere(&address, all->arena,
                "it is passed by reference: a uprobe has it, and at the function's return it may have changed");
    if (address.place == ARGUMENT_NOWHERE) {
        argument->place = ARGUMENT_NOWHERE;
        argument->type = address.type;
        return;
    }
    const struct argument_step by_word[] = {{ARGUMENT_WORD, address.offset, NULL}};
    const struct argument_step on_stack[] = {
        {ARGUMENT_WORD, address.base, NULL}, {ARGUMENT_ADD_NUMBER, address.offset, NULL}, {ARGUMENT_LOAD, 64, NULL}};
    bool stacked = address.place == ARGUMENT_MEMORY;
    struct argument_step *steps = arena_allocate(all->arena, sizeof on_stack);
    memcpy(steps, stacked ? on_stack : by_word, stacked ? sizeof on_stack : sizeof by_word);
    argument->place = ARGUMENT_COMPUTED;
    argument->steps = steps;
    argument->step_count = stacked ? sizeof on_stack / sizeof *on_stack : 1;
    argument->in_memory = true;
}

/* gfortran passes how long a text is behind all other arguments, as "_name". */
static const char *length_of(const struct parameters *all, const struct parameter *text)
{
    for (size_t i = 0; i < all->count; i++) {
        const char *name = all->items[i].debug.name;
        if (*name == '_' && !strcmp(name + 1, text->debug.name) && all->items[i].type.kind == DEBUGTYPE_INTEGER)
            return arena_string(all->arena, name, strlen(name));
    }
    return NULL;
}

/* Tells ARGUMENT, of the type NAME, which handlers cannot compute with, where it is passed by reference. */
static void referred(const struct parameters *all, const struct parameter *parameter, const char *name,
                     struct argument *argument)
{
    struct argument address;
    place_address(all, parameter, &address);
    if (address.place != ARGUMENT_CONTEXT) {
        nowhere(argument, all->arena, arena_format(all->arena, "it is a '%s' passed by reference", name));
        return;
    }
    for (unsigned i = 0; i < ARCH_MAX_ARGUMENTS; i++)
        argument->first = arch_argument(i) == address.offset ? i : argument->first;
    argument->passed = ARGUMENT_REFERRED;
    argument->size = parameter->type.size <= UINT32_MAX ? (uint32_t)parameter->type.size : 0;
    argument->length =
        parameter->type.kind == DEBUGTYPE_TEXT && !parameter->type.size ? length_of(all, parameter) : NULL;
    nowhere(
        argument, all->arena,
        arena_format(all->arena, "it is a '%s' passed by reference, whose address is e.arg%u", name, argument->first));
}

/* clang gives each parameter of a template's pack the pack's name: they are numbered as gcc does, "rest#0",
 * "rest#1". */
static const char *name_of(const struct parameters *all, const struct parameter *parameter)
{
    const char *name = parameter->debug.name;
    unsigned count = 0, number = 0;
    for (size_t i = 0; i < all->count; i++) {
        number = &all->items[i] == parameter ? count : number;
        count += !strcmp(all->items[i].debug.name, name);
    }
    if (!*name)
        return NULL;
    return count > 1 ? arena_format(all->arena, "%s#%u", name, number) : arena_string(all->arena, name, strlen(name));
}

static struct argument argument_of(const struct parameters *all, const struct parameter *parameter)
{
    struct argument argument = {.name = name_of(all, parameter)};
    char name[DEBUGTYPE_NAME];
    debugtype_name(parameter->debug.type, name);
    argument.type = arena_string(all->arena, name, strlen(name));
    argument.bits = parameter->type.bits;
    argument.debug = parameter->debug.type;
    if (all->function->compiler == COMPILER_OLD_FLANG && !strcmp(name, "integer")) {
        nowhere(&argument, all->arena,
                "flang before version 20 calls structs integers, too, so that its type is not known");
        return argument;
    }
    switch (parameter->type.kind) {
    case DEBUGTYPE_INTEGER:
    case DEBUGTYPE_BOOLEAN:
        argument.kind = parameter->type.kind == DEBUGTYPE_BOOLEAN ? ARGUMENT_BOOLEAN : ARGUMENT_INTEGER;
        if (parameter->type.size > 8)
            nowhere(&argument, all->arena,
                    arena_format(all->arena, "it is a '%s' of 128 bits, which handlers cannot compute with", name));
        else if (parameter->by_reference)
            place_referred(all, parameter, &argument);
        else
            place(all, parameter, &argument);
        break;
    case DEBUGTYPE_POINTER:
        argument.kind = ARGUMENT_POINTER;
        argument.bits = 64;
        if (parameter->by_reference)
            place_referred(all, parameter, &argument);
        else
            place(all, parameter, &argument);
        break;
    case DEBUGTYPE_STRUCT:
        if (parameter->by_reference) {
            referred(all, parameter, name, &argument);
            break;
        }
        nowhere(&argument, all->arena, explain_value(all, parameter, name));
        by_value(all, parameter, &argument);
        break;
    default:
        if (parameter->by_reference)
            referred(all, parameter, name, &argument);
        else
            nowhere(&argument, all->arena,
                    arena_format(all->arena, "it is a '%s', which handlers cannot compute with", name));
    }
    return argument;
}

/* --- all of a function --- */

static int list(struct parameters *all)
{
    for (all->count = 0; all->count < MAX_PARAMETERS; all->count++) {
        struct parameter *parameter = &all->items[all->count];
        *parameter = (struct parameter){0};
        int code = debugfunction_parameter(all->debuginfo, all->function, (unsigned)all->count, &parameter->debug);
        if (code)
            return code == -ERANGE ? 0 : code;
        debugtype_get(parameter->debug.type, &parameter->type);
        parameter_find(all, parameter);
    }
    return 0;
}

int parameters_of(struct debuginfo *debuginfo, const struct debugfunction *function, bool at_return,
                  struct arena *arena, struct argument **arguments, size_t *count)
{
    struct parameters all = {.debuginfo = debuginfo, .function = function, .at_return = at_return, .arena = arena};
    all.items = arena_allocate(arena, MAX_PARAMETERS * sizeof *all.items);
    int code = list(&all);
    if (code)
        return code;
    if (function->of_go)
        count_through_go(&all);
    else
        count_through(&all);
    for (size_t i = 0; i < all.count; i++)
        if (is_of_later(&all, &all.items[i]))
            all.items[i].found = FOUND_LATER;
    all.unconventional = why_unconventional(&all);
    *count = all.count;
    *arguments = arena_allocate(arena, (all.count + 1) * sizeof **arguments);
    for (size_t i = 0; i < all.count; i++)
        (*arguments)[i] = argument_of(&all, &all.items[i]);
    return 0;
}
