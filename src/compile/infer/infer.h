/* Types for all values of all handlers of a setup, and what is refused once they are known. */
#pragma once

#include "compile/ir/ir.h"

/* Gives each value, field and shared object of COUNT FUNCTIONS its type. Fails by compile_fail. */
void pass_infer(struct function *functions, size_t count);
/* Refuses what a record would mean otherwise than in Lua (check.c). Fails by compile_fail. */
void pass_check(struct function *function);

/* Refuses VALUE at POSITION if it is an aggregation's element: handlers only add to these. */
void refuse_reading(struct compiler *compiler, const struct position *position, struct value *value);
/* Refuses the operation VALUE on Lua numbers, which might be another one in Lua. */
_Noreturn void refuse_arithmetic(struct compiler *compiler, const struct value *value);
