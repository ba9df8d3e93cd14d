/* Folds constants: what can be computed when the handler is compiled. */
#include "compile/ir/fold.h"

#include <math.h>
#include <string.h>

#include "compile/context/compiler.h"

bool fold_is_number(const struct value *value)
{
    return value->op == IR_CONSTANT && (value->constant.kind == CAPTURED_NUMBER ||
                                        value->constant.kind == CAPTURED_I64 || value->constant.kind == CAPTURED_U64);
}

int64_t fold_integer(struct function *function, const struct value *value, const struct position *position)
{
    const struct captured *constant = &value->constant;
    if (constant->kind != CAPTURED_NUMBER)
        return constant->i64;
    double number = constant->number;
    if (!(fabs(number) <= 0x1p53))
        compile_fail(function->compiler, position,
                     "%.17g is too large for a Lua number in a handler: write it as an LL or ULL literal", number);
    if (number != trunc(number))
        compile_fail(function->compiler, position,
                     "%.14g is not an integer: handlers compute with integers; up.i64(a) / b cuts the fraction off",
                     number);
    return (int64_t)number;
}

static struct value *integer(struct function *function, bool is_unsigned, uint64_t bits)
{
    return ir_constant(function, &(struct captured){.kind = is_unsigned ? CAPTURED_U64 : CAPTURED_I64, .u64 = bits});
}

static int64_t narrowed(int64_t number, uint64_t bits)
{
    int64_t width = number < 0 ? -number : number;
    int shift = (int)(64 - width);
    return number < 0 ? (int64_t)(bits << shift) >> shift : (int64_t)(bits << shift >> shift);
}

/* a op b on doubles, as Lua does; NULL for the operations that handlers.md refuses on two numbers unless exact. */
static struct value *numbers(struct function *function, enum ir_op op, double a, double b,
                             const struct position *position)
{
    switch (op) {
    case IR_ADD:
        return ir_number(function, a + b);
    case IR_SUB:
        return ir_number(function, a - b);
    case IR_MUL:
        return ir_number(function, a * b);
    case IR_NEG:
        return ir_number(function, -a);
    case IR_DIV:
    case IR_MOD: {
        double result = op == IR_DIV ? a / b : a - floor(a / b) * b;
        if (result != trunc(result) || isinf(result))
            compile_fail(function->compiler, position,
                         "%.14g %s %.14g is not an integer in Lua: write up.i64(%.14g) %s %.14g for integer arithmetic",
                         a, op == IR_DIV ? "/" : "%", b, a, op == IR_DIV ? "/" : "%", b);
        return ir_number(function, result);
    }
    default:
        return NULL;
    }
}

static struct value *integers(struct function *function, enum ir_op op, bool is_unsigned, uint64_t a, uint64_t b)
{
    int64_t x = (int64_t)a, y = (int64_t)b;
    switch (op) {
    case IR_ADD:
        return integer(function, is_unsigned, a + b);
    case IR_SUB:
        return integer(function, is_unsigned, a - b);
    case IR_MUL:
        return integer(function, is_unsigned, a * b);
    case IR_NEG:
        return integer(function, is_unsigned, -a);
    case IR_AND:
        return integer(function, is_unsigned, a & b);
    case IR_OR:
        return integer(function, is_unsigned, a | b);
    case IR_XOR:
        return integer(function, is_unsigned, a ^ b);
    case IR_BNOT:
        return integer(function, is_unsigned, ~a);
    case IR_SHL:
        return integer(function, is_unsigned, a << (b & 63));
    case IR_SHR:
        return integer(function, is_unsigned, a >> (b & 63));
    case IR_SAR:
        return integer(function, is_unsigned, (uint64_t)(x >> (b & 63)));
    case IR_DIV:
    case IR_MOD:
        if (!b)
            return NULL;
        if (is_unsigned)
            return integer(function, true, op == IR_DIV ? a / b : a % b);
        if (y == -1) /* INT64_MIN / -1 wraps */
            return integer(function, false, op == IR_DIV ? -a : 0);
        return integer(function, false, (uint64_t)(op == IR_DIV ? x / y : x % y));
    default:
        return NULL;
    }
}

/* bit.* on two Lua numbers has 32 bits in Lua: refused where 64 would give something else. */
static struct value *bits(struct function *function, enum ir_op op, int64_t a, int64_t b,
                          const struct position *position)
{
    uint32_t x = (uint32_t)a, y = (uint32_t)b, result;
    if (op == IR_SAR)
        result = (uint32_t)((int32_t)x >> (y & 31));
    else
        result = (uint32_t)integers(function, op, false, x, ir_is_shift(op) ? y & 31 : y)->constant.u64;
    if (integers(function, op, false, (uint64_t)a, (uint64_t)b)->constant.i64 != (int32_t)result)
        compile_fail(function->compiler, position,
                     "on Lua numbers this bit operation has 32 bits in Lua, and another result than with the "
                     "64 of a handler: write up.i64(%lld)",
                     (long long)a);
    return ir_number(function, (int32_t)result);
}

struct value *fold_arithmetic(struct function *function, enum ir_op op, int64_t number, struct value *a,
                              struct value *b, const struct position *position)
{
    if (!fold_is_number(a) || (b && !fold_is_number(b)))
        return NULL;
    if (op == IR_CAST)
        return integer(function, number == 64,
                       (uint64_t)narrowed(number, (uint64_t)fold_integer(function, a, position)));
    bool a_number = a->constant.kind == CAPTURED_NUMBER, b_number = !b || b->constant.kind == CAPTURED_NUMBER;
    bool bitwise = op >= IR_AND && op <= IR_BNOT;
    if (a_number && b_number && !bitwise)
        return numbers(function, op, a->constant.number, b ? b->constant.number : 0, position);
    int64_t x = fold_integer(function, a, position), y = b ? fold_integer(function, b, position) : 0;
    if (a_number && b_number)
        return bits(function, op, x, y, position);
    bool is_unsigned = a->constant.kind == CAPTURED_U64 || (b && b->constant.kind == CAPTURED_U64 && !ir_is_shift(op));
    return integers(function, op, is_unsigned, (uint64_t)x, (uint64_t)y);
}

static int compare_strings(const struct captured *a, const struct captured *b)
{
    return a->string.length == b->string.length && !memcmp(a->string.bytes, b->string.bytes, a->string.length);
}

int fold_compare(enum ir_op op, const struct value *a, const struct value *b)
{
    if (a->op != IR_CONSTANT || b->op != IR_CONSTANT)
        return -1;
    const struct captured *x = &a->constant, *y = &b->constant;
    if (fold_is_number(a) && fold_is_number(b)) {
        if (x->kind == CAPTURED_NUMBER && y->kind == CAPTURED_NUMBER)
            return op == IR_EQ ? x->number == y->number : op == IR_LT ? x->number < y->number : x->number <= y->number;
        int64_t i = x->kind == CAPTURED_NUMBER ? (int64_t)x->number : x->i64;
        int64_t j = y->kind == CAPTURED_NUMBER ? (int64_t)y->number : y->i64;
        if (x->kind == CAPTURED_U64 || y->kind == CAPTURED_U64)
            return op == IR_EQ ? i == j : op == IR_LT ? (uint64_t)i < (uint64_t)j : (uint64_t)i <= (uint64_t)j;
        return op == IR_EQ ? i == j : op == IR_LT ? i < j : i <= j;
    }
    if (op != IR_EQ)
        return -1;
    if (x->kind == CAPTURED_STRING && y->kind == CAPTURED_STRING)
        return compare_strings(x, y);
    return a == b; /* constants of one kind are one value; of different kinds they are never equal in Lua */
}

int fold_truth(const struct value *value)
{
    if (value->op == IR_CONSTANT) {
        const struct captured *constant = &value->constant;
        return !(constant->kind == CAPTURED_NIL || (constant->kind == CAPTURED_BOOLEAN && !constant->boolean));
    }
    bool known = (value->op >= IR_EVENT && value->op <= IR_METHOD) || value->op == IR_RECORD;
    return known ? 1 : -1;
}
