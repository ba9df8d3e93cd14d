#include "unwind/expression.h"

#include <dwarf.h>
#include <string.h>

#include "unwind/bytes.h"

/* Reads "register + offset"; false where something else begins. */
static bool read_base(struct bytes *bytes, struct cfa_expression *result)
{
    uint8_t operation = (uint8_t)bytes_unsigned(bytes, 1);
    if (operation == DW_OP_bregx)
        result->base = bytes_uleb(bytes);
    else if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31)
        result->base = operation - DW_OP_breg0;
    else
        return false;
    result->offset = bytes_sleb(bytes);
    return !bytes->failed;
}

/*
 * The linker's expression for a lazily bound PLT (binutils, elf_x86_64_eh_frame_lazy_plt):
 * rsp + 8 + ((rip & 15) >= N) * 8, where N is the size of an entry up to the end of its push.
 */
static bool is_plt(const uint8_t *expression, uint32_t size, struct cfa_expression *result)
{
    static const uint8_t before[] = {DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and};
    static const uint8_t after[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
    if (size != sizeof before + 1 + sizeof after || memcmp(expression, before, sizeof before) ||
        memcmp(expression + sizeof before + 1, after, sizeof after))
        return false;
    uint8_t literal = expression[sizeof before];
    *result = (struct cfa_expression){.kind = RULE_PLT, .base = 7, .offset = literal - DW_OP_lit0};
    return literal >= DW_OP_lit0 && literal <= DW_OP_lit15;
}

bool expression_cfa(const uint8_t *expression, uint32_t size, struct cfa_expression *result)
{
    if (is_plt(expression, size, result))
        return true;
    struct bytes bytes = bytes_of(expression, size);
    if (!read_base(&bytes, result))
        return false;
    result->kind = RULE_REGISTER;
    if (!bytes_left(&bytes))
        return true;
    result->kind = RULE_DEREF;
    if (bytes_unsigned(&bytes, 1) != DW_OP_deref)
        return false;
    if (!bytes_left(&bytes))
        return true;
    result->kind = RULE_DEREF_PLUS_8;
    return bytes_unsigned(&bytes, 1) == DW_OP_plus_uconst && bytes_uleb(&bytes) == 8 && !bytes_left(&bytes);
}

bool expression_address(const uint8_t *expression, uint32_t size, struct cfa_expression *result)
{
    struct bytes bytes = bytes_of(expression, size);
    result->kind = RULE_REGISTER;
    return read_base(&bytes, result) && !bytes_left(&bytes);
}
