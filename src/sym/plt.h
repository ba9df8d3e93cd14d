/*
 * The procedure linkage table: the stubs through which a file calls functions of other files. They have no symbols;
 * their names come from the relocation of the slot through which they jump, as in objdump's "malloc@plt".
 */
#pragma once

#include <stdint.h>

#include "elf/elf_file.h"

struct plt;

/* Reads the stubs of ELF. NULL where it has none, or is damaged. */
struct plt *plt_load(const struct elf_file *elf);
void plt_free(struct plt *plt); /* NULL is fine */

/* The name of the stub that has the ELF address ADDRESS, owned by PLT, with the distance from its start in *OFFSET; or
 * NULL. */
const char *plt_lookup(struct plt *plt, uint64_t address, uint64_t *offset);
