/* The rules that a decoded function must keep before the compiler may index by its operands. */
#pragma once

#include "compile/front/bytecode.h"

/*
 * Checks every slot, constant and jump. A slot must lie in the frame. A constant must exist and have the kind that the
 * instruction takes. A jump must stay inside. A comparison must be followed by its JMP, and control must not run over
 * the end. NULL, or what is wrong. Instructions that this file does not know by name are let through: the compiler
 * refuses them.
 */
const char *bytecode_check(const struct bytecode *function);
/* True if OP sets the slot A, and no other. */
bool bytecode_sets_a(enum bytecode_op op);
