/*
 * The one reader of ELF symbol tables: symbols, their names and versions. The file is the traced program's and may say
 * anything: whatever is read here is checked against its size and its tables.
 */
#pragma once

#include "elf/elf_file.h"

struct symbol_table {
    const struct elf_file *elf; /* borrowed */
    const Elf64_Shdr *section;
    const Elf64_Shdr *strings; /* the section of the names */
    size_t count;
    char *names; /* with a NUL behind them; NULL: they are more than the caller wants */
    uint64_t names_size;
    Elf64_Sym *symbols; /* LOADED ones, from number FIRST on: those that are in memory */
    size_t first, loaded, capacity;
    uint16_t *versions;      /* one for each symbol, or NULL */
    uint32_t *version_names; /* offset in NAMES of each version's name, or 0 */
    size_t version_count;
};

/*
 * Opens the table in SECTION of ELF, which has to outlive it, and reads its names if they are no more than MAX_NAMES
 * bytes. The caller closes it, also where that fails: 0, -ENOENT: SECTION is NULL or has no names, -ENODATA: it is
 * damaged, -EFBIG: it has absurdly many symbols, -ENOMEM.
 */
int symbol_table_open(struct symbol_table *table, const struct elf_file *elf, const Elf64_Shdr *section,
                      uint64_t max_names);
void symbol_table_close(struct symbol_table *table);

/* Brings symbol I into memory, for symbol_table_at. */
const Elf64_Sym *symbol_table_load(struct symbol_table *table, size_t i);

/* Symbol I; NULL where there is none, or where it cannot be read. It stays until the next one is asked for. */
static inline const Elf64_Sym *symbol_table_at(struct symbol_table *table, size_t i)
{
    return i - table->first < table->loaded ? &table->symbols[i - table->first] : symbol_table_load(table, i);
}

/* The name of SYMBOL, which is TABLE's as long as that is open; NULL where it has none or names were not read. */
static inline const char *symbol_table_name(const struct symbol_table *table, const Elf64_Sym *symbol)
{
    return table->names && symbol->st_name < table->names_size ? table->names + symbol->st_name : NULL;
}

/* Reads the versions of the symbols of TABLE, the dynamic ones (LSB Core 5.0, 10.7), those of the file itself and those
 * of others that it is linked with; VERSIONS stays NULL without. 0, or -ENOMEM. */
int symbol_table_read_versions(struct symbol_table *table);

/* The version of symbol I, TABLE's, or NULL. *OLD: programs are not linked against it any more. */
const char *symbol_table_version(const struct symbol_table *table, size_t i, bool *old);
