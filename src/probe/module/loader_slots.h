/* The words of a file that the loader fills with addresses: of symbols, or of places in the file itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "elf/symbol_table.h"

struct loader_slot {
    uint64_t address, plus; /* PLUS: the place, where there is no symbol */
    uint32_t symbol;        /* of .dynsym; 0: none */
};

struct loader_slots {
    struct loader_slot *items; /* by ascending address */
    size_t count, capacity;
    struct symbol_table symbols;
    bool has_symbols;
};

/* Reads those of ELF, which SLOTS borrows: none where it has no dynamic symbols, a million of a section at most. */
void loader_slots_read(struct loader_slots *slots, const struct elf_file *elf);
void loader_slots_free(struct loader_slots *slots);

/*
 * The word at ADDRESS: false, it is none of these. *NAME: its symbol, owned by SLOTS, or NULL; *TARGET: the place in
 * this file that it is filled with, unless another file has that name, too; 0: none.
 */
bool loader_slots_find(struct loader_slots *slots, uint64_t address, const char **name, uint64_t *target);
