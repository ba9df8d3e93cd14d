/*
 * What expressions say. They are read from their bytes, since libdw would allocate 32 bytes for each operation before
 * anybody knows how many there are. An expression has no loop: what jumps is not understood.
 */
#include "sym/location.h"

#include <dwarf.h>
#include <errno.h>

#include "elf/bytes.h"
#include "sym/debugentry.h"
#include "sym/location_list.h"
#include "sym/location_stack.h"

static const char in_callers[] = "the compiler does not pass it: the debug information has it only in the callers";

/* --- expressions --- */

/* What a register had at the function's entry: only registers themselves are understood. */
static void entry_value(struct expression_machine *machine)
{
    struct bytes inner = bytes_inside(&machine->at, bytes_uleb(&machine->at));
    unsigned operation = (unsigned)bytes_unsigned(&inner, 1);
    uint64_t reg = operation == DW_OP_regx ? bytes_uleb(&inner) : operation - DW_OP_reg0;
    if (inner.failed || bytes_left(&inner) || reg > UINT16_MAX || (operation != DW_OP_regx && reg > 31))
        machine->why = location_not_understood;
    else
        location_push(machine,
                      location_number_of(machine->context->at_entry ? LOCATION_REGISTER : LOCATION_ENTRY_REGISTER,
                                         (unsigned)reg, 0));
}

static void evaluate(struct location_context *context, struct bytes expression, struct location *result);
/* The address from which the function's variables are counted. */
static void push_frame(struct expression_machine *machine, int64_t offset)
{
    struct location_context inner = *machine->context;
    struct location base = {0};
    struct bytes expression;
    bool ranged;
    inner.function = NULL;
    if (!machine->context->function ||
        location_expression(&inner, machine->context->function, DW_AT_frame_base, &expression, &ranged)) {
        machine->why = location_not_understood;
        return;
    }
    evaluate(&inner, expression, &base);
    if (base.count != 1 || base.term_count ||
        (base.pieces[0].kind != LOCATION_IN_REGISTER && base.pieces[0].kind != LOCATION_IN_MEMORY))
        machine->why = location_not_understood;
    else
        location_push_sum(machine, base.pieces[0].number, offset);
}

static void say(struct expression_machine *machine, enum location_kind kind, struct location_number number)
{
    machine->current = (struct location_piece){.kind = kind, .number = number};
    machine->done = true;
}

/* Operations that put a constant onto the stack. */
static bool is_literal(struct expression_machine *machine, unsigned operation)
{
    uint64_t address;
    if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31)
        location_push_constant(machine, operation - DW_OP_lit0);
    else if (operation >= DW_OP_const1u && operation <= DW_OP_const8s && !((operation - DW_OP_const1u) % 2))
        location_push_constant(machine, bytes_unsigned(&machine->at, (size_t)1 << (operation - DW_OP_const1u) / 2));
    else if (operation >= DW_OP_const1u && operation <= DW_OP_const8s)
        location_push_constant(machine,
                               (uint64_t)bytes_signed(&machine->at, (size_t)1 << (operation - DW_OP_const1u) / 2));
    else if (operation == DW_OP_constu)
        location_push_constant(machine, bytes_uleb(&machine->at));
    else if (operation == DW_OP_consts)
        location_push_constant(machine, (uint64_t)bytes_sleb(&machine->at));
    else if (operation == DW_OP_addr)
        location_push(machine, location_number_of(LOCATION_FILE, 0, bytes_signed(&machine->at, 8)));
    else if (operation == DW_OP_addrx || operation == DW_OP_constx) {
        if (machine->context->debuginfo && location_indexed(machine->context, bytes_uleb(&machine->at), &address))
            location_push(machine, location_number_of(operation == DW_OP_addrx ? LOCATION_FILE : LOCATION_ZERO, 0,
                                                      (int64_t)address));
        else
            machine->why = location_not_understood;
    } else {
        return false;
    }
    return true;
}

static void push_register(struct expression_machine *machine, uint64_t reg, int64_t offset)
{
    if (reg > UINT16_MAX)
        machine->why = location_not_understood;
    else
        location_push(machine, location_number_of(LOCATION_REGISTER, (unsigned)reg, offset));
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
        say(machine, LOCATION_IN_REGISTER, location_number_of(LOCATION_REGISTER, operation - DW_OP_reg0, 0));
    } else if (operation == DW_OP_regx) {
        uint64_t reg = bytes_uleb(&machine->at);
        say(machine, LOCATION_IN_REGISTER,
            location_number_of(LOCATION_REGISTER, reg > UINT16_MAX ? UINT16_MAX : (unsigned)reg, 0));
    } else if (operation == DW_OP_fbreg) {
        push_frame(machine, bytes_sleb(&machine->at));
    } else if (operation == DW_OP_call_frame_cfa) {
        location_push(machine, location_number_of(LOCATION_FRAME, 0, 0));
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
            location_push(machine, machine->stack[machine->depth - 1 - index]);
        else
            machine->why = location_not_understood;
        return true;
    case DW_OP_drop:
        location_pop(machine);
        return true;
    case DW_OP_swap: {
        struct location_number top = location_pop(machine), below = location_pop(machine);
        location_push(machine, top);
        location_push(machine, below);
        return true;
    }
    default:
        return false;
    }
}

static void negate(struct expression_machine *machine)
{
    struct location_number number = location_pop(machine);
    location_push_constant(machine, 0);
    location_push(machine, number);
    location_binary(machine, DW_OP_minus);
}

/* Operations of types, which DWARF 5 has, and GNU's of before. */
static bool is_of_types(struct expression_machine *machine, unsigned operation)
{
    uint64_t first;
    switch (operation) {
    case DW_OP_convert:
    case DW_OP_GNU_convert:
    case DW_OP_reinterpret:
    case DW_OP_GNU_reinterpret:
        location_convert(machine, bytes_uleb(&machine->at));
        return true;
    case DW_OP_regval_type:
    case DW_OP_GNU_regval_type:
        push_register(machine, bytes_uleb(&machine->at), 0);
        location_convert(machine, bytes_uleb(&machine->at));
        return true;
    case DW_OP_deref_type:
    case DW_OP_GNU_deref_type:
        first = bytes_unsigned(&machine->at, 1);
        location_push_load(machine, location_pop(machine), first);
        location_convert(machine, bytes_uleb(&machine->at));
        return true;
    case DW_OP_const_type:
    case DW_OP_GNU_const_type:
        location_push_typed(machine, bytes_uleb(&machine->at));
        return true;
    default:
        return false;
    }
}

/* What these operations say of a variable is that nothing can be read; or NULL. */
static const char *why_not(unsigned operation)
{
    switch (operation) {
    case DW_OP_GNU_parameter_ref:
        return in_callers;
    case DW_OP_implicit_pointer:
    case DW_OP_GNU_implicit_pointer:
        return "the compiler has optimised away what it points to, so that there is no address";
    default:
        return location_not_understood;
    }
}

/* The number on top is how far a _Thread_local variable is from the first one of its file. */
static void push_of_thread(struct expression_machine *machine)
{
    struct location_number number = location_pop(machine);
    if (number.base == LOCATION_ZERO && !number.loads && machine->context->debuginfo)
        location_push(machine, location_number_of(LOCATION_THREAD, 0, number.offset));
    else
        machine->why = location_not_understood;
}

static void step(struct expression_machine *machine, unsigned operation)
{
    if (is_literal(machine, operation) || is_of_registers(machine, operation) || is_of_stack(machine, operation) ||
        is_of_types(machine, operation))
        return;
    switch (operation) {
    case DW_OP_nop:
        break;
    case DW_OP_deref:
        location_push_load(machine, location_pop(machine), 8);
        break;
    case DW_OP_deref_size:
        location_push_load(machine, location_pop(machine), bytes_unsigned(&machine->at, 1));
        break;
    case DW_OP_form_tls_address:
    case DW_OP_GNU_push_tls_address:
        push_of_thread(machine);
        break;
    case DW_OP_plus_uconst:
        location_push_sum(machine, location_pop(machine), (int64_t)bytes_uleb(&machine->at));
        break;
    case DW_OP_neg:
        negate(machine);
        break;
    case DW_OP_not:
        location_push_constant(machine, UINT64_MAX);
        location_binary(machine, DW_OP_xor);
        break;
    case DW_OP_plus:
    case DW_OP_minus:
    case DW_OP_and:
    case DW_OP_or:
    case DW_OP_xor:
    case DW_OP_mul:
    case DW_OP_div:
    case DW_OP_shl:
    case DW_OP_shr:
    case DW_OP_shra:
    case DW_OP_eq:
    case DW_OP_ne:
    case DW_OP_lt:
    case DW_OP_le:
    case DW_OP_gt:
    case DW_OP_ge:
        location_binary(machine, operation);
        break;
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
        entry_value(machine);
        break;
    case DW_OP_stack_value:
        say(machine, LOCATION_IS_NUMBER, location_pop(machine));
        break;
    case DW_OP_implicit_value:
        say(machine, LOCATION_IS_BYTES, location_number_of(LOCATION_ZERO, 0, 0));
        machine->current.size = bytes_uleb(&machine->at);
        machine->current.bytes = bytes_take(&machine->at, machine->current.size);
        break;
    default:
        machine->why = why_not(operation);
    }
}

/* Ends a piece of SIZE bytes, 0: all of the variable, that the operations so far have said where it is. */
static void end_piece(struct expression_machine *machine, uint64_t size, struct location *result)
{
    struct location_piece *piece = &result->pieces[result->count++];
    if (machine->done)
        *piece = machine->current;
    else if (machine->depth)
        *piece = (struct location_piece){.kind = LOCATION_IN_MEMORY, .number = location_pop(machine)};
    else
        *piece = (struct location_piece){.kind = LOCATION_MISSING, .why = "the compiler has optimised it away here"};
    if (size || piece->kind != LOCATION_IS_BYTES)
        piece->size = size;
    machine->done = false;
    machine->depth = 0;
}

static void evaluate(struct location_context *context, struct bytes expression, struct location *result)
{
    struct expression_machine machine = {.context = context, .at = expression, .result = result};
    bool ended = false;
    result->count = result->term_count = 0;
    while (!machine.why && bytes_left(&machine.at)) {
        unsigned operation = (unsigned)bytes_unsigned(&machine.at, 1);
        ended = operation == DW_OP_piece;
        if (!ended)
            step(&machine, operation);
        else if (result->count == LOCATION_PIECES)
            machine.why = location_not_understood;
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
    struct location_context nowhere = {.debuginfo = NULL};
    struct expression_machine machine = {.context = &nowhere, .at = expression};
    if (frame)
        location_push(&machine, location_number_of(LOCATION_FRAME, 0, 0));
    while (!machine.why && bytes_left(&machine.at))
        step(&machine, (unsigned)bytes_unsigned(&machine.at, 1));
    *result = location_pop(&machine);
    return !machine.why && !machine.at.failed && !machine.done && result->bits == 64;
}

/* --- both --- */

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
        *piece =
            (struct location_piece){.kind = LOCATION_IS_NUMBER, .number = location_number_of(LOCATION_ZERO, 0, number)};
    else
        return -EINVAL;
    result->constant = true;
    result->count = 1;
    return 0;
}

/* Fills CONTEXT, all but whether it is for an entry; false: damaged. */
static bool begin(struct location_context *context, struct debuginfo *debuginfo, uint64_t variable, uint64_t function,
                  uint64_t address, Dwarf_Die *entry, Dwarf_Die *function_entry)
{
    Dwarf *dwarf = debuginfo_dwarf(debuginfo);
    uint8_t address_size;
    *context = (struct location_context){.debuginfo = debuginfo, .function = function_entry, .address = address};
    return dwarf_offdie(dwarf, variable, entry) && dwarf_offdie(dwarf, function, function_entry) &&
           dwarf_cu_die(entry->cu, &context->unit, &context->version, NULL, &address_size, &context->offset_size, NULL,
                        NULL) &&
           address_size == 8;
}

int location_value(struct debuginfo *debuginfo, uint64_t entry, unsigned name, uint64_t function, uint64_t address,
                   struct location *result, struct location_number *number)
{
    struct location_context context;
    Dwarf_Die at, function_entry;
    struct bytes expression;
    *result = (struct location){0};
    if (!begin(&context, debuginfo, entry, function, address, &at, &function_entry) ||
        location_expression(&context, &at, name, &expression, &result->ranged))
        return -ENODATA;
    evaluate(&context, expression, result);
    *number = result->pieces[0].number; /* what an expression leaves is taken for an address */
    return result->count == 1 && result->pieces[0].kind == LOCATION_IN_MEMORY ? 0 : -ENODATA;
}

int location_find(struct debuginfo *debuginfo, uint64_t variable, uint64_t function, uint64_t address, bool at_entry,
                  struct location *result)
{
    struct location_context context;
    Dwarf_Die entry, function_entry;
    struct bytes expression;
    *result = (struct location){0};
    if (!begin(&context, debuginfo, variable, function, address, &entry, &function_entry))
        return -EINVAL;
    context.at_entry = at_entry;
    int code = location_expression(&context, &entry, DW_AT_location, &expression, &result->ranged);
    if (code == -ENODATA)
        return find_constant(&entry, result);
    if (!code)
        evaluate(&context, expression, result);
    return code;
}
