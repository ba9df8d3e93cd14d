/*
 * What bytes of x86_64's machine code may lead to, wherever an instruction begins in them: faster than to decode them.
 * The functions are those of struct arch_code (arch/instruction.h) by these names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JUMP_BYTES_NEAR = 130 }; /* bytes that a jump with one byte of distance reaches, and more */

/* Every place that would be a far jump or call to LOW … HIGH. */
void jump_bytes_far_targets(const uint8_t *code, size_t size, uint64_t address, uint64_t low, uint64_t high,
                            void (*visit)(uint64_t, void *), void *context);
/* Every place that would compute the address of another one. */
void jump_bytes_places(const uint8_t *code, size_t size, uint64_t address, void (*visit)(uint64_t, void *),
                       void *context);
/* Whether nothing in CODE can lead to LOW … HIGH. */
bool jump_bytes_leads_nowhere(const uint8_t *code, size_t size, uint64_t address, uint64_t low, uint64_t high);
/* Whether nothing in CODE can be an indirect jump. */
bool jump_bytes_jumps_by_none(const uint8_t *code, size_t size);
