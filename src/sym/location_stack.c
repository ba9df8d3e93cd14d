/* Numbers on the stack of an expression: sums and loads as far as they go, terms beyond that, and their types. */
#include "sym/location_stack.h"

#include <dwarf.h>

#include "sym/debugentry.h"

const char location_not_understood[] = "the debug information computes it in a way that is not understood";
static const char float_number[] = "the debug information computes it with floating-point numbers";

void location_push(struct expression_machine *machine, struct location_number number)
{
    if (machine->depth == LOCATION_DEEPEST_STACK)
        machine->why = location_not_understood;
    else
        machine->stack[machine->depth++] = number;
}

struct location_number location_pop(struct expression_machine *machine)
{
    if (machine->depth)
        return machine->stack[--machine->depth];
    machine->why = location_not_understood;
    return (struct location_number){.bits = 64};
}

struct location_number location_number_of(enum location_base base, unsigned reg, int64_t offset)
{
    return (struct location_number){.base = base, .reg = reg, .offset = offset, .bits = 64};
}

void location_push_constant(struct expression_machine *machine, uint64_t constant)
{
    location_push(machine, location_number_of(LOCATION_ZERO, 0, (int64_t)constant));
}

static bool is_constant(const struct location_number *number)
{
    return number->base == LOCATION_ZERO && !number->loads && number->bits == 64;
}

/* A number that is only known as what OPERATION makes of A and B, or of A and BITS. */
static void push_term(struct expression_machine *machine, enum location_operation operation, struct location_number a,
                      struct location_number b, int bits)
{
    struct location *result = machine->result;
    if (!result || result->term_count == LOCATION_TERMS) {
        machine->why = location_not_understood;
        return;
    }
    struct location_number number = location_number_of(LOCATION_COMPUTED, 0, 0);
    number.term = (unsigned)result->term_count;
    number.type = a.type;
    result->terms[result->term_count++] = (struct location_term){.operation = operation, .bits = bits, .a = a, .b = b};
    location_push(machine, number);
}

void location_push_sum(struct expression_machine *machine, struct location_number number, int64_t constant)
{
    int64_t *last = number.loads ? &number.after[number.loads - 1] : &number.offset;
    if (number.bits < 64) {
        push_term(machine, LOCATION_ADD, number, location_number_of(LOCATION_ZERO, 0, constant), 0);
        return;
    }
    *last = (int64_t)((uint64_t)*last + (uint64_t)constant);
    location_push(machine, number);
}

/* SIZE bytes at the address NUMBER. */
void location_push_load(struct expression_machine *machine, struct location_number number, uint64_t size)
{
    number.type = 0;
    if (size != 1 && size != 2 && size != 4 && size != 8) {
        machine->why = location_not_understood;
    } else if (number.loads == LOCATION_LOADS || number.bits < 64 || size < 8) {
        push_term(machine, LOCATION_LOAD, number, location_number_of(LOCATION_ZERO, 0, 0), 8 * (int)size);
    } else {
        number.after[number.loads++] = 0;
        location_push(machine, number);
    }
}

/* The lowest bits of NUMBER, as many as MASK has, which is 2^n - 1. */
static void push_masked(struct expression_machine *machine, struct location_number number, uint64_t mask)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll(mask);
    if (bits < number.bits)
        number.bits = bits;
    location_push(machine, number);
}

static bool is_mask(const struct location_number *number)
{
    uint64_t mask = (uint64_t)number->offset;
    return is_constant(number) && mask && !(mask & (mask + 1));
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

/* True if A and B give OPERATION's result without a term: into the machine's stack. */
static bool is_simple(struct expression_machine *machine, unsigned operation, struct location_number a,
                      struct location_number b)
{
    if (operation == DW_OP_plus && is_constant(&a))
        location_push_sum(machine, b, a.offset);
    else if (operation == DW_OP_plus && is_constant(&b))
        location_push_sum(machine, a, b.offset);
    else if (operation == DW_OP_minus && is_constant(&b))
        location_push_sum(machine, a, (int64_t)(0 - (uint64_t)b.offset));
    else if (operation >= DW_OP_and && operation <= DW_OP_xor && operation != DW_OP_div && is_constant(&a) &&
             is_constant(&b))
        location_push_constant(machine, fold(operation, (uint64_t)a.offset, (uint64_t)b.offset));
    else if (operation == DW_OP_and && is_mask(&b))
        push_masked(machine, a, (uint64_t)b.offset);
    else if (operation == DW_OP_and && is_mask(&a))
        push_masked(machine, b, (uint64_t)a.offset);
    else
        return false;
    return true;
}

/* Cuts the number on top, which has just been computed from numbers of TYPE, as that does. */
static void wrap(struct expression_machine *machine, int type)
{
    if (machine->why || !type)
        return;
    struct location_number number = location_pop(machine);
    number.type = type;
    if (type > -64 && type < 64)
        push_term(machine, LOCATION_NARROW, number, location_number_of(LOCATION_ZERO, 0, 0), type);
    else
        location_push(machine, number);
}

/* The term for OPERATION; its operands change places where *SWAPPED. -1: there is none. */
static int term_of(unsigned operation, bool *swapped)
{
    *swapped = operation == DW_OP_gt || operation == DW_OP_ge;
    switch (operation) {
    case DW_OP_plus:
        return LOCATION_ADD;
    case DW_OP_minus:
        return LOCATION_SUBTRACT;
    case DW_OP_mul:
        return LOCATION_MULTIPLY;
    case DW_OP_and:
        return LOCATION_AND;
    case DW_OP_or:
        return LOCATION_OR;
    case DW_OP_xor:
        return LOCATION_XOR;
    case DW_OP_shl:
        return LOCATION_SHIFT_LEFT;
    case DW_OP_shr:
        return LOCATION_SHIFT_RIGHT;
    case DW_OP_shra:
        return LOCATION_SHIFT_RIGHT_SIGNED;
    case DW_OP_eq:
        return LOCATION_EQUAL;
    case DW_OP_ne:
        return LOCATION_UNEQUAL;
    case DW_OP_lt:
    case DW_OP_gt:
        return LOCATION_LESS;
    case DW_OP_le:
    case DW_OP_ge:
        return LOCATION_LESS_OR_EQUAL;
    case DW_OP_div:
        return LOCATION_DIVIDE;
    default:
        return -1;
    }
}

void location_binary(struct expression_machine *machine, unsigned operation)
{
    struct location_number b = location_pop(machine), a = location_pop(machine);
    bool compares = operation >= DW_OP_eq && operation <= DW_OP_ne, swapped;
    bool is_unsigned = a.type == 64 || b.type == 64; /* which these two have to know */
    int type = a.type ? a.type : b.type, term = term_of(operation, &swapped);
    if (machine->why || is_simple(machine, operation, a, b)) {
        wrap(machine, compares ? 0 : type);
        return;
    }
    bool signs_count = operation == DW_OP_div || (compares && operation != DW_OP_eq && operation != DW_OP_ne);
    if (term < 0 || (signs_count && is_unsigned)) {
        machine->why = location_not_understood;
        return;
    }
    push_term(machine, (enum location_operation)term, swapped ? b : a, swapped ? a : b, 0);
    wrap(machine, compares ? 0 : type);
}

/* The bits of the number that the type at OFFSET of the unit is, negative if signed; 0: it is none, and no address. */
static int bits_of_type(struct expression_machine *machine, uint64_t offset)
{
    struct debuginfo *debuginfo = machine->context->debuginfo;
    Dwarf_Die *unit = &machine->context->unit, type;
    Dwarf_Word size, encoding;
    if (!debuginfo ||
        !dwarf_offdie(debuginfo_dwarf(debuginfo), dwarf_dieoffset(unit) - dwarf_cuoffset(unit) + offset, &type) ||
        !debugentry_number(&type, DW_AT_byte_size, &size) || !debugentry_number(&type, DW_AT_encoding, &encoding) ||
        (size != 1 && size != 2 && size != 4 && size != 8)) {
        machine->why = location_not_understood;
        return 0;
    }
    if (encoding == DW_ATE_float)
        machine->why = float_number;
    bool is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
    return (int)(is_signed ? -8 * (int64_t)size : 8 * (int64_t)size);
}

/* DW_OP_convert, DW_OP_reinterpret: to the type at OFFSET of the unit, 0: one of an address. */
void location_convert(struct expression_machine *machine, uint64_t offset)
{
    struct location_number number = location_pop(machine);
    int bits = offset ? bits_of_type(machine, offset) : 0;
    if (machine->why)
        return;
    number.type = bits;
    if (bits > -64 && bits < 0)
        push_term(machine, LOCATION_NARROW, number, location_number_of(LOCATION_ZERO, 0, 0), bits);
    else if (bits > 0 && bits < 64)
        push_masked(machine, number, (UINT64_C(1) << bits) - 1);
    else
        location_push(machine, number);
}

/* A constant of the type at OFFSET, behind which its bytes stand. */
void location_push_typed(struct expression_machine *machine, uint64_t offset)
{
    int bits = bits_of_type(machine, offset);
    uint64_t size = bytes_unsigned(&machine->at, 1);
    if (!machine->why && size * 8 != (uint64_t)(bits < 0 ? -bits : bits))
        machine->why = location_not_understood;
    if (machine->why)
        return;
    struct location_number number = location_number_of(LOCATION_ZERO, 0, 0);
    number.offset =
        bits < 0 ? bytes_signed(&machine->at, (size_t)size) : (int64_t)bytes_unsigned(&machine->at, (size_t)size);
    number.type = bits;
    location_push(machine, number);
}
