/* What instructions of x86_64 do to all by which a walk finds the caller. */
#pragma once

#include "arch/instruction.h"

/* As arch_code.stack_effect. */
bool stack_effect_x86_64(const uint8_t *code, size_t size, struct arch_stack_effect *effect);
