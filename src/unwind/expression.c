/* The DWARF expressions of call frame information that rows can hold. */
#include "unwind/expression.h"

#include <dwarf.h>
#include <string.h>

#include "elf/bytes.h"

enum { DEPTH = 8 }; /* of the machine's stack: hand-written expressions need two or three */

/* A machine whose values are terms. */
struct terms {
    struct term items[DEPTH];
    size_t count;
    bool failed; /* a value is more than a term, or is missing */
};

static void push(struct terms *terms, struct term term)
{
    if (terms->count < DEPTH)
        terms->items[terms->count++] = term;
    else
        terms->failed = true;
}

static struct term pop(struct terms *terms)
{
    if (terms->count)
        return terms->items[--terms->count];
    terms->failed = true;
    return (struct term){0};
}

static void push_number(struct terms *terms, uint64_t number)
{
    push(terms, (struct term){.offset = (int64_t)number});
}

static void push_register(struct terms *terms, uint64_t base, int64_t offset)
{
    push(terms, (struct term){.root = TERM_REGISTER, .base = base, .offset = offset});
}

static bool is_number(const struct term *term)
{
    return term->root == TERM_NUMBER && !term->read;
}

static void push_sum(struct terms *terms, struct term term, uint64_t number)
{
    int64_t *place = term.read ? &term.addend : &term.offset;
    *place = (int64_t)((uint64_t)*place + number);
    push(terms, term);
}

static void add(struct terms *terms)
{
    struct term b = pop(terms), a = pop(terms);
    if (is_number(&b))
        push_sum(terms, a, (uint64_t)b.offset);
    else if (is_number(&a))
        push_sum(terms, b, (uint64_t)a.offset);
    else
        terms->failed = true;
}

static void subtract(struct terms *terms)
{
    struct term b = pop(terms), a = pop(terms);
    terms->failed |= !is_number(&b);
    push_sum(terms, a, -(uint64_t)b.offset);
}

static void dereference(struct terms *terms)
{
    struct term term = pop(terms);
    terms->failed |= term.read || is_number(&term);
    term.read = true;
    push(terms, term);
}

static void execute_constant(struct terms *terms, uint8_t operation, struct bytes *bytes)
{
    switch (operation) {
    case DW_OP_constu:
        push_number(terms, bytes_uleb(bytes));
        break;
    case DW_OP_consts:
        push_number(terms, (uint64_t)bytes_sleb(bytes));
        break;
    default: { /* const1u, const1s, const2u … const8s follow each other */
        size_t size = (size_t)1 << (operation - DW_OP_const1u) / 2;
        bool is_signed = (operation - DW_OP_const1u) % 2;
        push_number(terms, is_signed ? (uint64_t)bytes_signed(bytes, size) : bytes_unsigned(bytes, size));
    }
    }
}

static void execute(struct terms *terms, struct bytes *bytes)
{
    uint8_t operation = (uint8_t)bytes_unsigned(bytes, 1);
    uint64_t number;
    struct term term;
    if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31) {
        push_register(terms, operation - DW_OP_breg0, bytes_sleb(bytes));
        return;
    }
    if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31) {
        push_number(terms, operation - DW_OP_lit0);
        return;
    }
    if (operation >= DW_OP_const1u && operation <= DW_OP_consts) {
        execute_constant(terms, operation, bytes);
        return;
    }
    switch (operation) {
    case DW_OP_bregx:
        number = bytes_uleb(bytes);
        push_register(terms, number, bytes_sleb(bytes));
        break;
    case DW_OP_plus_uconst:
        term = pop(terms);
        push_sum(terms, term, bytes_uleb(bytes));
        break;
    case DW_OP_plus:
        add(terms);
        break;
    case DW_OP_minus:
        subtract(terms);
        break;
    case DW_OP_deref:
        dereference(terms);
        break;
    case DW_OP_dup:
        term = pop(terms);
        push(terms, term);
        push(terms, term);
        break;
    case DW_OP_drop:
        pop(terms);
        break;
    case DW_OP_nop:
        break;
    default:
        terms->failed = true;
    }
}

bool expression_term(const uint8_t *expression, uint32_t size, bool with_cfa, struct term *result)
{
    struct bytes bytes = bytes_of(expression, size);
    struct terms terms = {.count = 0};
    if (with_cfa)
        push(&terms, (struct term){.root = TERM_CFA});
    while (!terms.failed && bytes_left(&bytes)) {
        execute(&terms, &bytes);
        terms.failed |= bytes.failed;
    }
    *result = pop(&terms);
    return !terms.failed;
}

bool expression_is_plt(const uint8_t *expression, uint32_t size, int64_t *pushed)
{
    static const uint8_t before[] = {DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and};
    static const uint8_t after[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
    if (size != sizeof before + 1 + sizeof after || memcmp(expression, before, sizeof before) ||
        memcmp(expression + sizeof before + 1, after, sizeof after))
        return false;
    *pushed = expression[sizeof before] - DW_OP_lit0;
    return *pushed >= 0 && *pushed <= 15;
}
