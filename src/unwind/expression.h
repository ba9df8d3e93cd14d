/* The DWARF expressions of call frame information, as far as they amount to a register, a word in memory, and
 * numbers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The value of an expression: root + offset or, READ, the word at that address plus ADDEND. */
struct term {
    enum term_root { TERM_NUMBER, TERM_REGISTER, TERM_CFA } root; /* TERM_NUMBER: 0 */
    uint64_t base;                                                /* the register's DWARF number */
    int64_t offset;
    bool read;
    int64_t addend;
};

/*
 * What EXPRESSION leaves. In a register's expression (DW_CFA_expression, DW_CFA_val_expression) the CFA lies on the
 * stack at the beginning: WITH_CFA. False where it is damaged or more than a term.
 */
bool expression_term(const uint8_t *expression, uint32_t size, bool with_cfa, struct term *result);

/*
 * True if EXPRESSION is the linker's for a lazily bound PLT, rsp + 8 + ((rip & 15) >= N) * 8 (binutils,
 * elf_x86_64_eh_frame_lazy_plt): N, the size of an entry up to the end of its push, in *PUSHED.
 */
bool expression_is_plt(const uint8_t *expression, uint32_t size, int64_t *pushed);
