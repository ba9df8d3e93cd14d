/* From locations of debug information to what a program computes of a probe's context. */
#include "probe/args/local_place.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "probe/args/variable_path.h"
#include "sym/debugcalls.h"
#include "sym/debugtypes.h"
#include "sym/location.h"
#include "unwind/frame_address.h"
#include "unwind/rules.h"

/* --- steps --- */

/* What leads to the variable, or to its address; WHY: it cannot be had. */
struct steps {
    struct local_context *context;
    const struct location *location;
    const struct debugcall *call; /* registers and frame are those of this call's caller; NULL: the function's own */
    struct argument_step items[ARGUMENT_STEPS];
    size_t count;
    const char *why;
};

static void add_step(struct steps *steps, enum argument_operation operation, int64_t number)
{
    struct argument_step *last = steps->count ? &steps->items[steps->count - 1] : NULL;
    if (operation == ARGUMENT_ADD_NUMBER && (!number || (last && last->operation == ARGUMENT_ADD_NUMBER))) {
        if (number)
            last->number = (int64_t)((uint64_t)last->number + (uint64_t)number);
        return;
    }
    if (steps->count == ARGUMENT_STEPS)
        steps->why = "the debug information computes it in too many steps";
    else
        steps->items[steps->count++] = (struct argument_step){.operation = operation, .number = number};
}

static const char *register_name(struct steps *steps, unsigned reg)
{
    bool vector = arch_cpu.elf_machine == EM_X86_64 ? reg >= 17 && reg <= 32 : reg >= 64 && reg <= 95;
    if (vector)
        return arena_format(steps->context->arena, "the vector register %s%u",
                            arch_cpu.elf_machine == EM_X86_64 ? "xmm" : "v",
                            reg - (arch_cpu.elf_machine == EM_X86_64 ? 17 : 64));
    return arena_format(steps->context->arena, "a register that probes do not see (DWARF's number %u)", reg);
}

static int context_offset(unsigned dwarf_register)
{
    return dwarf_register < 32 ? arch_register(arch_dwarf_register(arch_cpu.elf_machine, (int)dwarf_register)) : -1;
}

static void add_register(struct steps *steps, unsigned reg)
{
    int offset = context_offset(reg);
    if (offset < 0)
        steps->why = arena_format(steps->context->arena, "it is in %s", register_name(steps, reg));
    else
        add_step(steps, ARGUMENT_WORD, offset);
}

/* --- the frame --- */

static uint64_t rule_at(const struct local_context *context, uint64_t address)
{
    return frame_rule(context->rules, address, arch_unwind(arch_cpu.elf_machine)->frame_pointer);
}

static const char no_frame[] =
    "the file's call frame information does not say where the function's frame is at this instruction";

static void add_any_register(struct steps *steps, unsigned reg);

/* The canonical frame address: of the function, or by STEPS->call of its caller. */
static void add_frame_address(struct steps *steps)
{
    const struct local_context *context = steps->context;
    uint64_t rule = rule_at(context, steps->call ? steps->call->returned - 1 : context->address);
    bool reads = RULE_KIND(rule) == RULE_DEREF || RULE_KIND(rule) == RULE_DEREF_BASE;
    if (RULE_KIND(rule) != RULE_REGISTER && !reads) {
        steps->why = no_frame;
        return;
    }
    add_any_register(steps, (unsigned)RULE_BASE(rule));
    add_step(steps, ARGUMENT_ADD_NUMBER, reads ? RULE_PLACE(rule) : RULE_OFFSET(rule));
    if (reads) {
        add_step(steps, ARGUMENT_LOAD, 64);
        add_step(steps, ARGUMENT_ADD_NUMBER, RULE_ADDEND(rule));
    }
}

static bool is_preserved(unsigned reg)
{
    if (arch_cpu.elf_machine == EM_X86_64)
        return reg == 3 || reg == 6 || (reg >= 12 && reg <= 15); /* rbx, rbp, r12 … r15 */
    return reg >= 19 && reg <= 29;
}

/* A register as the caller of STEPS->call had it: saved in the function's frame, or still there. */
static void add_callers_register(struct steps *steps, unsigned reg)
{
    const struct debugcall *call = steps->call;
    const struct local_context *context = steps->context;
    uint64_t rule = frame_rule(context->rules, context->address, reg);
    bool is_stack_pointer = context_offset(reg) == arch_cpu.stack_pointer;
    steps->call = NULL;
    if (is_stack_pointer)
        add_frame_address(steps);
    else if (!is_preserved(reg) || (RULE_KIND(rule) != RULE_REGISTER && RULE_KIND(rule) != RULE_DEREF))
        steps->why = no_frame;
    else if (RULE_FRAME(rule) == 0)
        add_register(steps, reg);
    else {
        add_frame_address(steps);
        add_step(steps, ARGUMENT_ADD_NUMBER, RULE_FRAME(rule));
        add_step(steps, ARGUMENT_LOAD, 64);
    }
    steps->call = call;
}

static void add_any_register(struct steps *steps, unsigned reg)
{
    if (steps->call)
        add_callers_register(steps, reg);
    else
        add_register(steps, reg);
}

/*
 * Clang counts what is in the frame from the frame pointer or the stack pointer as the function's body has them. They
 * have that neither in the prologue nor in an epilogue: then the canonical frame address comes from elsewhere.
 */
static bool has_frame_of_body(const struct local_context *context, unsigned reg)
{
    uint64_t rule = rule_at(context, context->address), body = rule_at(context, context->prologue_end);
    if (RULE_KIND(rule) != RULE_REGISTER || RULE_KIND(body) != RULE_REGISTER)
        return true;
    bool same = RULE_BASE(rule) == RULE_BASE(body);
    if (context_offset(reg) == arch_cpu.frame_pointer)
        return same || context_offset((unsigned)RULE_BASE(rule)) == arch_cpu.frame_pointer;
    return same && RULE_OFFSET(rule) >= RULE_OFFSET(body);
}

/* Why what NUMBER is, by a location that holds for RANGED instructions or for all of the function, is not there yet or
 * any more; or NULL. */
static const char *why_unframed(struct local_context *context, const struct location_number *number, bool ranged)
{
    bool in_prologue = context->function.address <= context->address && context->address < context->prologue_end;
    int offset = number->base == LOCATION_REGISTER ? context_offset(number->reg) : -1;
    bool by_pointer = offset >= 0 && (offset == arch_cpu.frame_pointer || offset == arch_cpu.stack_pointer);
    bool of_caller = number->base == LOCATION_FRAME && number->offset >= 0;
    if (number->base != LOCATION_REGISTER && number->base != LOCATION_FRAME)
        return NULL;
    if (in_prologue && !ranged && !of_caller)
        return "the function's first instructions have not put it into its place yet";
    bool counted = by_pointer && context->function.compiler != COMPILER_GCC &&
                   context->function.compiler != COMPILER_GCC_UNOPTIMISED &&
                   (!ranged || offset == arch_cpu.stack_pointer);
    if (counted && !has_frame_of_body(context, number->reg))
        return "the function's frame is not there at this instruction, which is of its beginning or its end";
    return NULL;
}

/* --- numbers --- */

static void add_number(struct steps *steps, const struct location_number *number);

enum { MAX_CALLERS = 32 };

/* What the calls of the function pass in a register. */
struct call_walk {
    struct steps *steps;
    unsigned reg;
    struct argument_caller *callers;
    size_t count;
};

static int take_call(const struct debugcall *call, void *context)
{
    struct call_walk *walk = context;
    struct local_context *own = walk->steps->context;
    struct location location;
    struct location_number number;
    struct steps steps = {.context = own, .location = &location, .call = call};
    if (debugcall_passes(own->debuginfo, call, walk->reg, &location, &number))
        return 0;
    add_number(&steps, &number);
    if (steps.why)
        return 0;
    if (walk->count == MAX_CALLERS)
        return 1;
    struct argument_step *copy = arena_allocate(own->arena, steps.count * sizeof *copy);
    memcpy(copy, steps.items, steps.count * sizeof *copy);
    walk->callers = arena_grow(own->arena, walk->callers, walk->count, sizeof *walk->callers);
    walk->callers[walk->count++] =
        (struct argument_caller){(int64_t)(call->returned - own->address), copy, steps.count};
    return 0;
}

/* What the register REG had when the function was entered: nothing keeps it, but callers may say what they have passed,
 * and where the function returns to tells which one it was. */
static void add_passed(struct steps *steps, unsigned reg)
{
    struct local_context *context = steps->context;
    struct call_walk walk = {.steps = steps, .reg = reg};
    int64_t link = RULE_LINK(rule_at(context, context->address));
    int code = steps->call ? -ENODATA /* of the caller's own callers: not looked for */
                           : debugcalls_visit(context->debuginfo, context->function.instance, take_call, &walk);
    if (code || !walk.count) {
        steps->why =
            arena_format(context->arena,
                         "it is known only by what %s had when the function was entered, which nothing keeps%s; "
                         "a uprobe of the function has it there as e.args",
                         arch_dwarf_register(arch_cpu.elf_machine, (int)reg),
                         code == 1         ? ", and too many places call it"
                         : code == -EMLINK ? ", and it may be entered by jumps, too"
                                           : "");
        return;
    }
    if (link) {
        add_frame_address(steps);
        add_step(steps, ARGUMENT_ADD_NUMBER, link);
        add_step(steps, ARGUMENT_RETURN, 0);
    } else {
        add_register(steps, arch_unwind(arch_cpu.elf_machine)->return_address);
    }
    add_step(steps, ARGUMENT_WORD, arch_cpu.instruction_pointer);
    add_step(steps, ARGUMENT_SUBTRACT, 0);
    add_step(steps, ARGUMENT_PASSED, (int64_t)walk.count);
    if (!steps->why)
        steps->items[steps->count - 1].callers = walk.callers;
}

static void add_term(struct steps *steps, unsigned index)
{
    static const enum argument_operation operations[] = {
        [LOCATION_ADD] = ARGUMENT_ADD,
        [LOCATION_SUBTRACT] = ARGUMENT_SUBTRACT,
        [LOCATION_MULTIPLY] = ARGUMENT_MULTIPLY,
        [LOCATION_DIVIDE] = ARGUMENT_DIVIDE,
        [LOCATION_AND] = ARGUMENT_AND,
        [LOCATION_OR] = ARGUMENT_OR,
        [LOCATION_XOR] = ARGUMENT_XOR,
        [LOCATION_SHIFT_LEFT] = ARGUMENT_SHIFT_LEFT,
        [LOCATION_SHIFT_RIGHT] = ARGUMENT_SHIFT_RIGHT,
        [LOCATION_SHIFT_RIGHT_SIGNED] = ARGUMENT_SHIFT_RIGHT_SIGNED,
        [LOCATION_EQUAL] = ARGUMENT_EQUAL,
        [LOCATION_UNEQUAL] = ARGUMENT_UNEQUAL,
        [LOCATION_LESS] = ARGUMENT_LESS,
        [LOCATION_LESS_OR_EQUAL] = ARGUMENT_LESS_OR_EQUAL,
        [LOCATION_NARROW] = ARGUMENT_NARROW,
        [LOCATION_LOAD] = ARGUMENT_LOAD,
    };
    const struct location_term *term = &steps->location->terms[index];
    bool shifts = term->operation >= LOCATION_SHIFT_LEFT && term->operation <= LOCATION_SHIFT_RIGHT_SIGNED;
    add_number(steps, &term->a);
    if (term->operation < LOCATION_NARROW)
        add_number(steps, &term->b);
    if (shifts && term->b.base == LOCATION_ZERO && (uint64_t)term->b.offset > 63)
        steps->why = "the debug information shifts it by more bits than there are";
    add_step(steps, operations[term->operation], term->bits);
}

/* Terms may each be of the one before twice: the number of steps bounds them. */
static void add_number(struct steps *steps, const struct location_number *number)
{
    struct local_context *context = steps->context;
    if (steps->why)
        return;
    switch (number->base) {
    case LOCATION_ZERO:
        add_step(steps, ARGUMENT_NUMBER, number->offset);
        break;
    case LOCATION_FILE: /* as far from the probe's instruction as in the file */
        add_step(steps, ARGUMENT_WORD, arch_cpu.instruction_pointer);
        add_step(steps, ARGUMENT_ADD_NUMBER, (int64_t)((uint64_t)number->offset - context->address));
        break;
    case LOCATION_REGISTER:
        add_any_register(steps, number->reg);
        break;
    case LOCATION_ENTRY_REGISTER:
        add_passed(steps, number->reg);
        break;
    case LOCATION_FRAME:
        add_frame_address(steps);
        break;
    case LOCATION_THREAD:
        if (!context->has_thread_block)
            steps->why =
                "each thread has its own (_Thread_local), and where those of a library are only the loader knows";
        add_step(steps, ARGUMENT_THREAD, 0);
        add_step(steps, ARGUMENT_ADD_NUMBER, context->thread_block);
        break;
    case LOCATION_COMPUTED:
        add_term(steps, number->term);
        break;
    }
    if (steps->why)
        return;
    if (number->base != LOCATION_ZERO && number->base != LOCATION_FILE)
        add_step(steps, ARGUMENT_ADD_NUMBER, number->offset);
    for (unsigned i = 0; i < number->loads; i++) {
        add_step(steps, ARGUMENT_LOAD, 64);
        add_step(steps, ARGUMENT_ADD_NUMBER, number->after[i]);
    }
    if (number->bits < 64)
        add_step(steps, ARGUMENT_NARROW, (int64_t)number->bits);
}

/* --- pieces --- */

static uint64_t number_of_bytes(const uint8_t *bytes, uint64_t size)
{
    uint64_t number = 0;
    memcpy(&number, bytes, size < sizeof number ? size : sizeof number); /* the CPUs are little-endian */
    return number;
}

static bool is_power_of_two(uint64_t number)
{
    return number && !(number & (number - 1));
}

/* The value of SIZE bytes, from the byte INNER on, of PIECE. */
static void add_slice(struct steps *steps, const struct location_piece *piece, uint64_t inner, uint64_t size)
{
    const struct location *location = steps->location;
    if (piece->kind != LOCATION_MISSING && !location->constant)
        steps->why = why_unframed(steps->context, &piece->number, location->ranged);
    if (steps->why)
        return;
    switch (piece->kind) {
    case LOCATION_MISSING:
        steps->why = piece->why;
        break;
    case LOCATION_IN_REGISTER:
    case LOCATION_IS_NUMBER:
        add_number(steps, &piece->number);
        if (inner + size > 8)
            steps->why = "the debug information has it in a register that is too small for it";
        if (inner) {
            add_step(steps, ARGUMENT_NUMBER, 8 * (int64_t)inner);
            add_step(steps, ARGUMENT_SHIFT_RIGHT, 0);
        }
        break;
    case LOCATION_IN_MEMORY:
        add_number(steps, &piece->number);
        add_step(steps, ARGUMENT_ADD_NUMBER, (int64_t)inner);
        add_step(steps, ARGUMENT_LOAD, 8 * (int64_t)size);
        if (!is_power_of_two(size))
            steps->why = "the compiler keeps it in parts of odd sizes";
        break;
    case LOCATION_IS_BYTES:
        if (inner > piece->size || size > piece->size - inner)
            steps->why = "its debug information is damaged";
        else
            add_step(steps, ARGUMENT_NUMBER, (int64_t)number_of_bytes(piece->bytes + inner, size));
        break;
    }
}

/* Bytes of PIECE; one that is not bounded has all of the variable. */
static uint64_t size_of(const struct location_piece *piece)
{
    return piece->size ? piece->size : UINT32_MAX;
}

/* A number of SIZE bytes at most 8, from the byte OFFSET of the variable on, which may lie in several pieces. */
static void add_value(struct steps *steps, uint64_t offset, uint64_t size)
{
    const struct location *location = steps->location;
    uint64_t start = 0, done = 0;
    for (size_t i = 0; i < location->count && !steps->why && done < size; i++) {
        const struct location_piece *piece = &location->pieces[i];
        uint64_t end = start + size_of(piece), from = offset + done;
        if (from >= start && from < end) {
            uint64_t taken = end - from < size - done ? end - from : size - done;
            add_slice(steps, piece, from - start, taken);
            if (taken < size)
                add_step(steps, ARGUMENT_NARROW, 8 * (int64_t)taken);
            if (done) {
                add_step(steps, ARGUMENT_NUMBER, 8 * (int64_t)done);
                add_step(steps, ARGUMENT_SHIFT_LEFT, 0);
                add_step(steps, ARGUMENT_OR, 0);
            }
            done += taken;
        }
        start = end;
    }
    if (!steps->why && done < size)
        steps->why = "the compiler keeps a part of it, and has optimised the rest away here";
}

/* The address of SIZE bytes from the byte OFFSET of the variable on, where they lie in memory; false: they do not. */
static bool add_address(struct steps *steps, uint64_t offset, uint64_t size)
{
    const struct location *location = steps->location;
    uint64_t start = 0;
    for (size_t i = 0; i < location->count; i++) {
        const struct location_piece *piece = &location->pieces[i];
        uint64_t end = start + size_of(piece);
        if (piece->kind == LOCATION_IN_MEMORY && offset >= start && offset + size <= end) {
            steps->why = why_unframed(steps->context, &piece->number, location->ranged);
            add_number(steps, &piece->number);
            add_step(steps, ARGUMENT_ADD_NUMBER, (int64_t)(offset - start));
            return true;
        }
        start = end;
    }
    return false;
}

/* --- arguments --- */

static void nowhere(struct local_context *context, struct argument *argument, const char *why)
{
    argument->place = ARGUMENT_NOWHERE;
    argument->type = arena_string(context->arena, why, strlen(why));
}

/* The number that ARGUMENT, of the type TYPE, has whatever the program does. */
static void set_constant(struct argument *argument, const struct debugtype *type, int64_t number)
{
    int unused = type->size < 8 ? 64 - 8 * (int)type->size : 0;
    argument->place = ARGUMENT_CONSTANT;
    argument->number = (uint64_t)number << unused;
    if (argument->bits < 0)
        argument->number = (uint64_t)((int64_t)argument->number >> unused);
    else
        argument->number >>= unused;
    if (argument->kind == ARGUMENT_BOOLEAN)
        argument->number = argument->number != 0;
}

/* Sets where ARGUMENT is: what STEPS leave, or, IN_MEMORY, what lies there. The usual ways have places of their own. */
static void set_place(struct argument *argument, const struct debugtype *type, const struct steps *steps,
                      bool in_memory)
{
    const struct argument_step *items = steps->items;
    bool by_word = items[0].operation == ARGUMENT_WORD;
    bool at_offset = by_word && (steps->count == 1 || (steps->count == 2 && items[1].operation == ARGUMENT_ADD_NUMBER));
    if (!in_memory && steps->count == 1 && by_word) {
        argument->place = ARGUMENT_CONTEXT;
        argument->offset = items[0].number;
    } else if (!in_memory && steps->count == 1 && items[0].operation == ARGUMENT_NUMBER) {
        set_constant(argument, type, items[0].number);
    } else if (in_memory && at_offset && argument->kind != ARGUMENT_OBJECT && argument->kind != ARGUMENT_BOOLEAN) {
        argument->place = ARGUMENT_MEMORY;
        argument->base = (uint32_t)items[0].number;
        argument->offset = steps->count == 2 ? items[1].number : 0;
    } else {
        struct argument_step *copy = arena_allocate(steps->context->arena, steps->count * sizeof *copy);
        memcpy(copy, items, steps->count * sizeof *copy);
        argument->place = ARGUMENT_COMPUTED;
        argument->steps = copy;
        argument->step_count = steps->count;
        argument->in_memory = in_memory;
    }
}

/* Sets where a number or a pointer is, OFFSET bytes into the variable. */
static void place_number(struct local_context *context, const struct location *location, const struct debugtype *type,
                         uint64_t offset, struct argument *argument)
{
    struct steps steps = {.context = context, .location = location};
    bool in_memory = add_address(&steps, offset, type->size);
    if (!in_memory)
        add_value(&steps, offset, type->size);
    if (steps.why)
        nowhere(context, argument, steps.why);
    else
        set_place(argument, type, &steps, in_memory);
}

/* Sets where a struct or an array is, of which handlers want the address. Of others they may want parts. */
static void place_object(struct local_context *context, const struct location *location, const char *name,
                         uint64_t offset, struct argument *argument)
{
    struct steps steps = {.context = context, .location = location};
    if (!add_address(&steps, offset, argument->size) && location->count == 1 &&
        location->pieces[0].kind == LOCATION_MISSING) {
        steps.why = location->pieces[0].why;
    } else if (!steps.count && !steps.why) {
        argument->parts = true;
        steps.why = arena_format(context->arena,
                                 "it is a '%s' that is not in memory here; its fields may be, each by itself, in "
                                 "registers or not at all",
                                 name);
    }
    if (steps.why)
        nowhere(context, argument, steps.why);
    else
        set_place(argument, NULL, &steps, true);
}

static void place_by_type(struct local_context *context, const struct variable_field *field,
                          const struct location *location, struct argument *argument)
{
    struct debugtype type = {0};
    char name[DEBUGTYPE_NAME];
    debugtype_get(field->type, &type);
    debugtype_name(field->type, name);
    argument->type = arena_string(context->arena, name, strlen(name));
    argument->bits = type.bits;
    switch (type.kind) {
    case DEBUGTYPE_INTEGER:
    case DEBUGTYPE_BOOLEAN:
        argument->kind = type.kind == DEBUGTYPE_BOOLEAN ? ARGUMENT_BOOLEAN : ARGUMENT_INTEGER;
        if (type.size > 8)
            nowhere(context, argument,
                    arena_format(context->arena, "it is a '%s' of 128 bits, which handlers cannot compute with", name));
        else
            place_number(context, location, &type, field->offset, argument);
        break;
    case DEBUGTYPE_POINTER:
        argument->kind = ARGUMENT_POINTER;
        argument->bits = 64;
        argument->debug = field->type;
        place_number(context, location, &type, field->offset, argument);
        break;
    case DEBUGTYPE_STRUCT:
    case DEBUGTYPE_ARRAY:
        argument->kind = ARGUMENT_OBJECT;
        argument->bits = 64;
        argument->size = type.size < UINT32_MAX ? (uint32_t)type.size : UINT32_MAX;
        argument->debug = argument->size ? field->type : type.element;
        if (type.vector)
            nowhere(context, argument,
                    arena_format(context->arena, "it is a vector ('%s'), which handlers cannot compute with", name));
        else
            place_object(context, location, name, field->offset, argument);
        break;
    default:
        nowhere(context, argument,
                arena_format(context->arena, "it is a '%s', which handlers cannot compute with", name));
    }
}

struct argument local_place(struct local_context *context, const struct debuglocal *local, const char *path)
{
    struct argument argument = {.name = arena_string(context->arena, local->name, strlen(local->name))};
    struct variable_field field = {.type = local->type};
    struct location location;
    struct error err = {0};
    int code = -ENODATA;
    if (local->entry)
        code = location_find(context->debuginfo, local->entry, context->function.instance, context->address,
                             context->address == context->function.address, &location);
    if (code == -ENODATA)
        nowhere(context, &argument, "the compiler has optimised it away");
    else if (code == -ERANGE)
        nowhere(context, &argument, "the compiler has optimised it away at this instruction: nothing holds it there");
    else if (code)
        nowhere(context, &argument, "its debug information is damaged");
    else if (*path && variable_path_find(local->type, local->name, path, &field, &err))
        nowhere(context, &argument, err.text);
    else
        place_by_type(context, &field, &location, &argument);
    return argument;
}
