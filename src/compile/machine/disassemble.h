/* BPF instructions as text, in the notation of the kernel's verifier and of llvm-objdump. */
#pragma once

#include "compile/object/object.h"

/*
 * Writes instruction AT of PROGRAM to TEXT (SIZE bytes; 96 are enough for names of 40), such as "r1 = *(u64 *)(r6 +
 * 112)". Maps, counters and functions that the program refers to have their names; a jump shows its distance and the
 * instruction it leads to: "goto +5 <41>". Returns how many places of the program the instruction takes: 1, or 2 for a
 * 64-bit constant.
 */
size_t disassemble(const struct object_program *program, size_t at, char *text, size_t size);

/* The name of helper NUMBER without "bpf_", as in "map_lookup_elem"; NULL if this uplua does not know it. */
const char *disassemble_helper(int32_t number);
