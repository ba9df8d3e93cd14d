/* The few DWARF expressions that compilers, the linker and libc write into call frame information. */
#ifndef UPLUA_UNWIND_EXPRESSION_H
#define UPLUA_UNWIND_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/rules.h"

/* What is left of an expression: the parts of a rule (bpf/unwind.h). */
struct cfa_expression {
    enum rule_kind kind;
    uint64_t base;
    int64_t offset;
};

/* The CFA as a RULE_REGISTER, RULE_DEREF, RULE_DEREF_PLUS_8 or RULE_PLT; false where it is none. */
bool expression_cfa(const uint8_t *expression, uint32_t size, struct cfa_expression *result);

/* The expression base + offset; false where it is another one. */
bool expression_address(const uint8_t *expression, uint32_t size, struct cfa_expression *result);

#endif
