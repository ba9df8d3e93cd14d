/*
 * Lists and expressions are read here, from their bytes, since libdw would allocate 32 bytes for each of them before
 * anybody knows how many there are. An expression has no loop: what jumps is not understood.
 */
#include "sym/location.h"

#include <dwarf.h>
#include <errno.h>

#include "elf/bytes.h"
#include "sym/debugentry.h"

enum {
    DEEPEST_STACK = 16,
    MAX_RANGES = 1 << 20, /* of one list */
    DW_LLE_GNU_VIEW_PAIR = 9,
};

static const char not_understood[] = "the debug information computes it in a way that is not understood";

/* What an expression is evaluated for. */
struct context {
    struct debuginfo *debuginfo; /* NULL: the expression belongs to none, nor to a unit */
    Dwarf_Die unit;
    Dwarf_Die *function; /* whose frame base counts; NULL: none does */
    uint64_t address;
    bool at_entry;
    Dwarf_Half version; /* of the unit */
    uint8_t offset_size;
};

static int find_expression(struct context *context, Dwarf_Die *entry, unsigned name, struct bytes *expression,
                           bool *ranged);

/* --- expressions --- */

struct expression_machine {
    struct context *context;
    struct bytes at;
    struct location_number stack[DEEPEST_STACK];
    size_t depth;
    struct location_piece current; /* what the last operations say, if they say more than the stack */
    bool done;                     /* they do */
    const char *why;               /* it cannot be known */
};

static void push(struct expression_machine *machine, struct location_number number)
{
    if (machine->depth == DEEPEST_STACK)
        machine->why = not_understood;
    else
        machine->stack[machine->depth++] = number;
}

static struct location_number pop(struct expression_machine *machine)
{
    if (machine->depth)
        return machine->stack[--machine->depth];
    machine->why = not_understood;
    return (struct location_number){.bits = 64};
}

static struct location_number number_of(enum location_base base, unsigned reg, int64_t offset)
{
    return (struct location_number){.base = base, .reg = reg, .offset = offset, .bits = 64};
}

static void push_constant(struct expression_machine *machine, uint64_t constant)
{
    push(machine, number_of(LOCATION_ZERO, 0, (int64_t)constant));
}

static bool is_constant(const struct location_number *number)
{
    return number->base == LOCATION_ZERO && !number->loads && number->bits == 64;
}

static void push_sum(struct expression_machine *machine, struct location_number number, int64_t constant)
{
    int64_t *last = number.loads ? &number.after[number.loads - 1] : &number.offset;
    *last = (int64_t)((uint64_t)*last + (uint64_t)constant);
    if (number.bits < 64)
        machine->why = not_understood;
    push(machine, number);
}

static void push_load(struct expression_machine *machine, struct location_number number)
{
    if (number.loads == LOCATION_LOADS || number.bits < 64)
        machine->why = not_understood;
    else
        number.after[number.loads++] = 0;
    push(machine, number);
}

/* The lowest bits of NUMBER, as many as MASK has, which is 2^n - 1. */
static void push_masked(struct expression_machine *machine, struct location_number number, uint64_t mask)
{
    unsigned bits = mask ? 64 - (unsigned)__builtin_clzll(mask) : 0;
    if (!mask || (mask & (mask + 1)))
        machine->why = not_understood;
    else if (bits < number.bits)
        number.bits = bits;
    push(machine, number);
}

static uint64_t fold(unsigned operation, uint64_t a, uint64_t b)
{
    switch (operation) {
    case DW_OP_and:
        return a & b;
    case DW_OP_or:
        return a | b;
    case DW_OP_xor:
        return a ^ b;
    case DW_OP_mul:
        return a * b;
    case DW_OP_shl:
        return b < 64 ? a << b : 0;
    case DW_OP_shr:
        return b < 64 ? a >> b : 0;
    default:
        return (uint64_t)((int64_t)a >> (b < 64 ? b : 63)); /* DW_OP_shra */
    }
}

static void binary(struct expression_machine *machine, unsigned operation)
{
    struct location_number b = pop(machine), a = pop(machine);
    if (operation == DW_OP_plus && is_constant(&a))
        push_sum(machine, b, a.offset);
    else if (operation == DW_OP_plus && is_constant(&b))
        push_sum(machine, a, b.offset);
    else if (operation == DW_OP_minus && is_constant(&b))
        push_sum(machine, a, (int64_t)(0 - (uint64_t)b.offset));
    else if (operation != DW_OP_plus && operation != DW_OP_minus && is_constant(&a) && is_constant(&b))
        push_constant(machine, fold(operation, (uint64_t)a.offset, (uint64_t)b.offset));
    else if (operation == DW_OP_and && is_constant(&b))
        push_masked(machine, a, (uint64_t)b.offset);
    else if (operation == DW_OP_and && is_constant(&a))
        push_masked(machine, b, (uint64_t)a.offset);
    else
        machine->why = not_understood;
}

/* DW_OP_convert: to the type at OFFSET of the unit, 0: one of an address. */
static void convert(struct expression_machine *machine, uint64_t offset)
{
    struct location_number number = pop(machine);
    struct debuginfo *debuginfo = machine->context->debuginfo;
    Dwarf_Die *unit = &machine->context->unit, type;
    Dwarf_Word size, encoding;
    if (!offset) {
        push(machine, number);
    } else if (!debuginfo ||
               !dwarf_offdie(debuginfo_dwarf(debuginfo), dwarf_dieoffset(unit) - dwarf_cuoffset(unit) + offset,
                             &type) ||
               !debugentry_number(&type, DW_AT_byte_size, &size) ||
               !debugentry_number(&type, DW_AT_encoding, &encoding) || size - 1 > 7) {
        machine->why = not_understood;
    } else if (size == 8 || number.bits < 8 * size) {
        push(machine, number);
    } else if (encoding == DW_ATE_unsigned || encoding == DW_ATE_unsigned_char) {
        push_masked(machine, number, (UINT64_C(1) << 8 * size) - 1);
    } else {
        machine->why = not_understood;
    }
}

/* What a register had at the function's entry: only registers themselves are understood. */
static void entry_value(struct expression_machine *machine)
{
    struct bytes inner = bytes_inside(&machine->at, bytes_uleb(&machine->at));
    unsigned operation = (unsigned)bytes_unsigned(&inner, 1);
    uint64_t reg = operation == DW_OP_regx ? bytes_uleb(&inner) : operation - DW_OP_reg0;
    if (inner.failed || bytes_left(&inner) || reg > UINT16_MAX || (operation != DW_OP_regx && reg > 31))
        machine->why = not_understood;
    else
        push(machine,
             number_of(machine->context->at_entry ? LOCATION_REGISTER : LOCATION_ENTRY_REGISTER, (unsigned)reg, 0));
}

static void evaluate(struct context *context, struct bytes expression, struct location *result);

/* The address from which the function's variables are counted. */
static void push_frame(struct expression_machine *machine, int64_t offset)
{
    struct context inner = *machine->context;
    struct location base = {0};
    struct bytes expression;
    bool ranged;
    inner.function = NULL;
    if (!machine->context->function ||
        find_expression(&inner, machine->context->function, DW_AT_frame_base, &expression, &ranged)) {
        machine->why = not_understood;
        return;
    }
    evaluate(&inner, expression, &base);
    if (base.count != 1 || (base.pieces[0].kind != LOCATION_IN_REGISTER && base.pieces[0].kind != LOCATION_IN_MEMORY))
        machine->why = not_understood;
    else
        push_sum(machine, base.pieces[0].number, offset);
}

static void say(struct expression_machine *machine, enum location_kind kind, struct location_number number)
{
    machine->current = (struct location_piece){.kind = kind, .number = number};
    machine->done = true;
}

/* DW_OP_addrx, DW_OP_constx: NUMBER of the unit's addresses. */
static bool indexed_address(struct context *context, uint64_t number, uint64_t *address)
{
    struct bytes section = debuginfo_section(context->debuginfo, DEBUGINFO_ADDRESSES);
    Dwarf_Word base;
    if (!debugentry_number(&context->unit, DW_AT_addr_base, &base))
        base = 8; /* behind the header of the only table */
    if (base > bytes_left(&section) || number >= (bytes_left(&section) - base) / 8)
        return false;
    bytes_take(&section, base + 8 * number);
    *address = bytes_unsigned(&section, 8);
    return true;
}

/* Operations that put a constant onto the stack. */
static bool is_literal(struct expression_machine *machine, unsigned operation)
{
    uint64_t address;
    if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31)
        push_constant(machine, operation - DW_OP_lit0);
    else if (operation >= DW_OP_const1u && operation <= DW_OP_const8s && !((operation - DW_OP_const1u) % 2))
        push_constant(machine, bytes_unsigned(&machine->at, (size_t)1 << (operation - DW_OP_const1u) / 2));
    else if (operation >= DW_OP_const1u && operation <= DW_OP_const8s)
        push_constant(machine, (uint64_t)bytes_signed(&machine->at, (size_t)1 << (operation - DW_OP_const1u) / 2));
    else if (operation == DW_OP_constu)
        push_constant(machine, bytes_uleb(&machine->at));
    else if (operation == DW_OP_consts)
        push_constant(machine, (uint64_t)bytes_sleb(&machine->at));
    else if (operation == DW_OP_addr)
        push(machine, number_of(LOCATION_FILE, 0, bytes_signed(&machine->at, 8)));
    else if (operation == DW_OP_addrx || operation == DW_OP_constx) {
        if (machine->context->debuginfo && indexed_address(machine->context, bytes_uleb(&machine->at), &address))
            push(machine, number_of(operation == DW_OP_addrx ? LOCATION_FILE : LOCATION_ZERO, 0, (int64_t)address));
        else
            machine->why = not_understood;
    } else {
        return false;
    }
    return true;
}

static void push_register(struct expression_machine *machine, uint64_t reg, int64_t offset)
{
    if (reg > UINT16_MAX)
        machine->why = not_understood;
    else
        push(machine, number_of(LOCATION_REGISTER, (unsigned)reg, offset));
}

/* Operations that name registers, or the frame. */
static bool is_of_registers(struct expression_machine *machine, unsigned operation)
{
    if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31) {
        push_register(machine, operation - DW_OP_breg0, bytes_sleb(&machine->at));
    } else if (operation == DW_OP_bregx) {
        uint64_t reg = bytes_uleb(&machine->at);
        push_register(machine, reg, bytes_sleb(&machine->at));
    } else if (operation >= DW_OP_reg0 && operation <= DW_OP_reg31) {
        say(machine, LOCATION_IN_REGISTER, number_of(LOCATION_REGISTER, operation - DW_OP_reg0, 0));
    } else if (operation == DW_OP_regx) {
        uint64_t reg = bytes_uleb(&machine->at);
        say(machine, LOCATION_IN_REGISTER,
            number_of(LOCATION_REGISTER, reg > UINT16_MAX ? UINT16_MAX : (unsigned)reg, 0));
    } else if (operation == DW_OP_fbreg) {
        push_frame(machine, bytes_sleb(&machine->at));
    } else if (operation == DW_OP_call_frame_cfa) {
        push(machine, number_of(LOCATION_FRAME, 0, 0));
    } else {
        return false;
    }
    return true;
}

/* Operations that move what is on the stack. */
static bool is_of_stack(struct expression_machine *machine, unsigned operation)
{
    size_t index;
    switch (operation) {
    case DW_OP_dup:
    case DW_OP_over:
    case DW_OP_pick:
        index = operation == DW_OP_dup ? 0 : operation == DW_OP_over ? 1 : bytes_unsigned(&machine->at, 1);
        if (index < machine->depth)
            push(machine, machine->stack[machine->depth - 1 - index]);
        else
            machine->why = not_understood;
        return true;
    case DW_OP_drop:
        pop(machine);
        return true;
    case DW_OP_swap: {
        struct location_number top = pop(machine), below = pop(machine);
        push(machine, top);
        push(machine, below);
        return true;
    }
    default:
        return false;
    }
}

static void step(struct expression_machine *machine, unsigned operation)
{
    if (is_literal(machine, operation) || is_of_registers(machine, operation) || is_of_stack(machine, operation))
        return;
    switch (operation) {
    case DW_OP_nop:
        break;
    case DW_OP_deref:
        push_load(machine, pop(machine));
        break;
    case DW_OP_plus_uconst:
        push_sum(machine, pop(machine), (int64_t)bytes_uleb(&machine->at));
        break;
    case DW_OP_plus:
    case DW_OP_minus:
    case DW_OP_and:
    case DW_OP_or:
    case DW_OP_xor:
    case DW_OP_mul:
    case DW_OP_shl:
    case DW_OP_shr:
    case DW_OP_shra:
        binary(machine, operation);
        break;
    case DW_OP_convert:
    case DW_OP_GNU_convert:
        convert(machine, bytes_uleb(&machine->at));
        break;
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
        entry_value(machine);
        break;
    case DW_OP_stack_value:
        say(machine, LOCATION_IS_NUMBER, pop(machine));
        break;
    case DW_OP_implicit_value:
        say(machine, LOCATION_IS_BYTES, number_of(LOCATION_ZERO, 0, 0));
        machine->current.size = bytes_uleb(&machine->at);
        machine->current.bytes = bytes_take(&machine->at, machine->current.size);
        break;
    case DW_OP_GNU_parameter_ref:
        machine->why = "the compiler does not pass it: the debug information has it only in the callers";
        break;
    default:
        machine->why = not_understood;
    }
}

/* Ends a piece of SIZE bytes, 0: all of the variable, that the operations so far have said where it is. */
static void end_piece(struct expression_machine *machine, uint64_t size, struct location *result)
{
    struct location_piece *piece = &result->pieces[result->count++];
    if (machine->done)
        *piece = machine->current;
    else if (machine->depth)
        *piece = (struct location_piece){.kind = LOCATION_IN_MEMORY, .number = pop(machine)};
    else
        *piece = (struct location_piece){.kind = LOCATION_MISSING, .why = "the compiler has optimised it away here"};
    if (size || piece->kind != LOCATION_IS_BYTES)
        piece->size = size;
    machine->done = false;
    machine->depth = 0;
}

static void evaluate(struct context *context, struct bytes expression, struct location *result)
{
    struct expression_machine machine = {.context = context, .at = expression};
    bool ended = false;
    result->count = 0;
    while (!machine.why && bytes_left(&machine.at)) {
        unsigned operation = (unsigned)bytes_unsigned(&machine.at, 1);
        ended = operation == DW_OP_piece;
        if (!ended)
            step(&machine, operation);
        else if (result->count == LOCATION_PIECES)
            machine.why = not_understood;
        else
            end_piece(&machine, bytes_uleb(&machine.at), result);
        if (machine.at.failed)
            machine.why = "its debug information is damaged";
    }
    if (!machine.why && !ended && result->count < LOCATION_PIECES)
        end_piece(&machine, 0, result);
    if (!machine.why)
        return;
    result->count = 1;
    result->pieces[0] = (struct location_piece){.kind = LOCATION_MISSING, .why = machine.why};
}

bool location_compute(struct bytes expression, bool frame, struct location_number *result)
{
    struct context nowhere = {.debuginfo = NULL};
    struct expression_machine machine = {.context = &nowhere, .at = expression};
    if (frame)
        push(&machine, number_of(LOCATION_FRAME, 0, 0));
    while (!machine.why && bytes_left(&machine.at))
        step(&machine, (unsigned)bytes_unsigned(&machine.at, 1));
    *result = pop(&machine);
    return !machine.why && !machine.at.failed && !machine.done && result->bits == 64;
}

/* --- lists --- */

/* A list's reader; START and END are those of the entry that was read last. */
struct list {
    struct context *context;
    struct bytes at;
    uint64_t base, start, end;
};

static uint64_t take_indexed(struct list *list)
{
    uint64_t address = 0;
    if (!indexed_address(list->context, bytes_uleb(&list->at), &address))
        list->at.failed = true;
    return address;
}

/* Goes on to the next entry of a list of DWARF 5: false at its end. */
static bool next_of_five(struct list *list, struct bytes *expression)
{
    for (unsigned read = 0; read < MAX_RANGES && !list->at.failed; read++) {
        switch (bytes_unsigned(&list->at, 1)) {
        case DW_LLE_base_addressx:
            list->base = take_indexed(list);
            continue;
        case DW_LLE_base_address:
            list->base = bytes_unsigned(&list->at, 8);
            continue;
        case DW_LLE_GNU_VIEW_PAIR:
            bytes_uleb(&list->at);
            bytes_uleb(&list->at);
            continue;
        case DW_LLE_startx_endx:
            list->start = take_indexed(list);
            list->end = take_indexed(list);
            break;
        case DW_LLE_startx_length:
            list->start = take_indexed(list);
            list->end = list->start + bytes_uleb(&list->at);
            break;
        case DW_LLE_offset_pair:
            list->start = list->base + bytes_uleb(&list->at);
            list->end = list->base + bytes_uleb(&list->at);
            break;
        case DW_LLE_default_location:
            list->start = 0;
            list->end = UINT64_MAX;
            break;
        case DW_LLE_start_end:
            list->start = bytes_unsigned(&list->at, 8);
            list->end = bytes_unsigned(&list->at, 8);
            break;
        case DW_LLE_start_length:
            list->start = bytes_unsigned(&list->at, 8);
            list->end = list->start + bytes_uleb(&list->at);
            break;
        default: /* the end, or nothing that is known */
            return false;
        }
        *expression = bytes_inside(&list->at, bytes_uleb(&list->at));
        return !list->at.failed;
    }
    return false;
}

/* The same of DWARF 2 to 4. */
static bool next_of_four(struct list *list, struct bytes *expression)
{
    for (unsigned read = 0; read < MAX_RANGES && !list->at.failed; read++) {
        uint64_t start = bytes_unsigned(&list->at, 8), end = bytes_unsigned(&list->at, 8);
        if (!start && !end)
            return false;
        if (start == UINT64_MAX) {
            list->base = end;
            continue;
        }
        list->start = list->base + start;
        list->end = list->base + end;
        *expression = bytes_inside(&list->at, bytes_unsigned(&list->at, 2));
        return !list->at.failed;
    }
    return false;
}

/* Looks for the expression that counts at the context's address in the list at OFFSET. */
static int search_list(struct context *context, uint64_t offset, struct bytes *expression)
{
    bool five = context->version >= 5;
    struct list list = {.context = context,
                        .at = debuginfo_section(context->debuginfo, five ? DEBUGINFO_LISTS : DEBUGINFO_OLD_LISTS)};
    struct bytes found;
    if (offset >= bytes_left(&list.at))
        return -EINVAL;
    bytes_take(&list.at, offset);
    dwarf_lowpc(&context->unit, &list.base); /* stays 0 where the unit has none */
    for (unsigned read = 0; read < MAX_RANGES && (five ? next_of_five : next_of_four)(&list, &found); read++) {
        bool covers = list.start <= context->address && context->address < list.end;
        /* An entry for no code at all counts before the first statement, whose effect has no code. */
        if (!covers && !(context->at_entry && list.start == context->address && list.end == list.start))
            continue;
        *expression = found;
        return 0;
    }
    return list.at.failed ? -EINVAL : -ERANGE;
}

/* Where the list begins that ATTRIBUTE names by its number among the unit's. */
static bool numbered_list(struct context *context, const Dwarf_Attribute *attribute, uint64_t *offset)
{
    struct bytes section = debuginfo_section(context->debuginfo, DEBUGINFO_LISTS);
    struct bytes entries = debuginfo_section(context->debuginfo, DEBUGINFO_ENTRIES);
    Dwarf_Word base;
    if (!debugentry_number(&context->unit, DW_AT_loclists_base, &base))
        base = context->offset_size == 8 ? 20 : 12;                     /* behind the header of the only table */
    if (attribute->valp < entries.at || attribute->valp >= entries.end) /* libdw's versions differ here */
        return false;
    bytes_take(&entries, (uint64_t)(attribute->valp - entries.at));
    uint64_t number = bytes_uleb(&entries);
    if (base > bytes_left(&section) || number >= (bytes_left(&section) - base) / context->offset_size)
        return false;
    bytes_take(&section, base + number * context->offset_size);
    *offset = base + bytes_unsigned(&section, context->offset_size);
    return !entries.failed;
}

/* --- both --- */

/* The expression for where ENTRY is, by its attribute NAME. */
static int find_expression(struct context *context, Dwarf_Die *entry, unsigned name, struct bytes *expression,
                           bool *ranged)
{
    Dwarf_Attribute attribute;
    Dwarf_Block block;
    uint64_t offset;
    if (!dwarf_attr(entry, name, &attribute))
        return -ENODATA;
    *ranged = dwarf_formblock(&attribute, &block) != 0;
    if (!*ranged) {
        *expression = bytes_of(block.data, block.length);
        return block.length ? 0 : -ENODATA;
    }
    bool found = dwarf_whatform(&attribute) == DW_FORM_loclistx ? numbered_list(context, &attribute, &offset)
                                                                : !dwarf_formudata(&attribute, &offset);
    return found ? search_list(context, offset, expression) : -EINVAL;
}

/* By DW_AT_const_value: a number, or bytes. */
static int find_constant(Dwarf_Die *entry, struct location *result)
{
    Dwarf_Attribute attribute;
    Dwarf_Block block;
    Dwarf_Sword number;
    struct location_piece *piece = &result->pieces[0];
    if (!dwarf_attr(entry, DW_AT_const_value, &attribute))
        return -ENODATA;
    if (!dwarf_formblock(&attribute, &block))
        *piece = (struct location_piece){.kind = LOCATION_IS_BYTES, .bytes = block.data, .size = block.length};
    else if (!dwarf_formsdata(&attribute, &number))
        *piece = (struct location_piece){.kind = LOCATION_IS_NUMBER, .number = number_of(LOCATION_ZERO, 0, number)};
    else
        return -EINVAL;
    result->constant = true;
    result->count = 1;
    return 0;
}

int location_find(struct debuginfo *debuginfo, uint64_t variable, uint64_t function, uint64_t address, bool at_entry,
                  struct location *result)
{
    Dwarf *dwarf = debuginfo_dwarf(debuginfo);
    Dwarf_Die entry, function_entry;
    uint8_t address_size;
    struct context context = {
        .debuginfo = debuginfo, .function = &function_entry, .address = address, .at_entry = at_entry};
    struct bytes expression;
    *result = (struct location){0};
    if (!dwarf_offdie(dwarf, variable, &entry) || !dwarf_offdie(dwarf, function, &function_entry) ||
        !dwarf_cu_die(entry.cu, &context.unit, &context.version, NULL, &address_size, &context.offset_size, NULL,
                      NULL) ||
        address_size != 8)
        return -EINVAL;
    int code = find_expression(&context, &entry, DW_AT_location, &expression, &result->ranged);
    if (code == -ENODATA)
        return find_constant(&entry, result);
    if (!code)
        evaluate(&context, expression, result);
    return code;
}
