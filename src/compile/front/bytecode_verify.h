/* What a decoded function must hold to before the compiler may index by its operands. */
#ifndef UPLUA_COMPILE_FRONT_BYTECODE_VERIFY_H
#define UPLUA_COMPILE_FRONT_BYTECODE_VERIFY_H

#include "compile/front/bytecode.h"

/*
 * Checks that every slot an instruction names lies in the frame, every constant exists and has the kind the instruction
 * takes, every jump stays inside, every comparison is followed by its JMP, and the end is never run over. NULL, or what
 * is wrong. Instructions that this file does not know by name are let through: the compiler refuses them.
 */
const char *bytecode_check(const struct bytecode *function);

#endif
