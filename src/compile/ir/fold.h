/* Constant folding. */
#pragma once

#include "compile/ir/ir.h"

/* True if VALUE is a constant of LuaJIT's number or 64-bit integer kinds. */
bool fold_is_number(const struct value *value);
/*
 * OP (IR_ADD … IR_BNOT, IR_CAST with NUMBER) on constants: the resulting constant, or NULL where the operation must run
 * (an operand is not constant, or the result is an error that has to be counted at run time). Two Lua numbers compute
 * as doubles, as in Lua; with a 64-bit operand as LuaJIT's cdata arithmetic.
 */
struct value *fold_arithmetic(struct function *function, enum ir_op op, int64_t number, struct value *a,
                              struct value *b, const struct position *position);
/* OP (IR_EQ, IR_LT, IR_LE) on constants: 0, 1, or -1 where it is not known. */
int fold_compare(enum ir_op op, const struct value *a, const struct value *b);
/* Lua's truth of VALUE: 0, 1, or -1 where it is not known. */
int fold_truth(const struct value *value);
/*
 * The integer that the constant number VALUE stands for; fails with the user's line for a fraction or a number beyond
 * 2^53, which the kernel cannot hold as Lua does.
 */
int64_t fold_integer(struct function *function, const struct value *value, const struct position *position);
