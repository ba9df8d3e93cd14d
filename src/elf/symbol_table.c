/* Reads the symbols of ELF files, their names and their versions. */
#include "elf/symbol_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/section.h"

enum {
    MAX_SYMBOLS = 1 << 25,         /* a browser has two million */
    CHUNK = 4096,                  /* symbols in memory at a time */
    VERSION_HIDDEN = 0x8000,       /* in .gnu.version: not the default one of its symbol */
    MAX_VERSIONS = VERSION_HIDDEN, /* glibc has about 40 */
};

int symbol_table_open(struct symbol_table *table, const struct elf_file *elf, const Elf64_Shdr *section,
                      uint64_t max_names)
{
    uint64_t file_size = (uint64_t)elf->stat.st_size;
    size_t names_size;
    *table = (struct symbol_table){.elf = elf, .section = section};
    if (!section || section->sh_link >= elf->section_count)
        return -ENOENT;
    if (section->sh_size / sizeof(Elf64_Sym) > MAX_SYMBOLS)
        return -EFBIG;
    table->strings = &elf->sections[section->sh_link];
    if (section->sh_entsize != sizeof(Elf64_Sym) || section->sh_offset > file_size ||
        section->sh_size > file_size - section->sh_offset || table->strings->sh_type != SHT_STRTAB ||
        table->strings->sh_size > file_size)
        return -ENODATA;
    table->names_size = table->strings->sh_size;
    if (table->names_size <= max_names && !(table->names = section_read(elf, table->strings, max_names, &names_size)))
        return -errno;
    table->count = (size_t)(section->sh_size / sizeof(Elf64_Sym));
    /* Relocations ask for dynamic symbols in any order; all others are asked for one after the other. */
    table->capacity = section->sh_type == SHT_DYNSYM || table->count < CHUNK ? table->count : CHUNK;
    table->symbols = malloc((table->capacity + 1) * sizeof *table->symbols);
    if (table->symbols)
        return 0;
    table->count = 0;
    return -ENOMEM;
}

void symbol_table_close(struct symbol_table *table)
{
    free(table->names);
    free(table->symbols);
    free(table->versions);
    free(table->version_names);
}

const Elf64_Sym *symbol_table_load(struct symbol_table *table, size_t i)
{
    if (i >= table->count)
        return NULL;
    size_t left = table->count - (i - i % table->capacity);
    table->first = i - i % table->capacity;
    table->loaded = left < table->capacity ? left : table->capacity;
    if (elf_file_read(table->elf, table->section->sh_offset + table->first * sizeof *table->symbols, table->symbols,
                      table->loaded * sizeof *table->symbols)) {
        table->loaded = 0;
        return NULL;
    }
    return &table->symbols[i - table->first];
}

/* The names of the versions that the file defines, from .gnu.version_d; without them there are none. 0, or -ENOMEM. */
static int read_version_names(struct symbol_table *table)
{
    const Elf64_Shdr *section = section_find(table->elf, SHT_GNU_verdef, NULL);
    size_t size, at = 0;
    uint8_t *bytes = section_read(table->elf, section, SECTION_MAX, &size);
    if (!bytes)
        return errno == ENOMEM ? -ENOMEM : 0;
    size_t count = section->sh_info < MAX_VERSIONS ? section->sh_info : MAX_VERSIONS;
    table->version_count = count + 2; /* they are numbered from 1 */
    table->version_names = calloc(table->version_count, sizeof *table->version_names);
    for (size_t i = 0; table->version_names && i < count; i++) {
        Elf64_Verdef definition;
        Elf64_Verdaux auxiliary;
        if (at > size || size - at < sizeof definition)
            break;
        memcpy(&definition, bytes + at, sizeof definition);
        size_t aux = at + definition.vd_aux;
        if (aux > size || size - aux < sizeof auxiliary)
            break;
        memcpy(&auxiliary, bytes + aux, sizeof auxiliary);
        if (definition.vd_ndx < table->version_count && auxiliary.vda_name < table->names_size)
            table->version_names[definition.vd_ndx] = auxiliary.vda_name;
        if (!definition.vd_next)
            break;
        at += definition.vd_next;
    }
    free(bytes);
    return table->version_names ? 0 : -ENOMEM;
}

int symbol_table_read_versions(struct symbol_table *table)
{
    size_t size;
    uint16_t *versions = section_read(table->elf, section_find(table->elf, SHT_GNU_versym, NULL), SECTION_MAX, &size);
    if (!versions)
        return errno == ENOMEM ? -ENOMEM : 0;
    if (size / sizeof *versions < table->count) {
        free(versions);
        return 0;
    }
    table->versions = versions;
    return read_version_names(table);
}

const char *symbol_table_version(const struct symbol_table *table, size_t i, bool *old)
{
    unsigned version = table->versions ? table->versions[i] : VER_NDX_GLOBAL;
    *old = version & VERSION_HIDDEN;
    version &= ~(unsigned)VERSION_HIDDEN;
    if (version <= VER_NDX_GLOBAL || version >= table->version_count || !table->version_names || !table->names)
        return NULL;
    return table->names + table->version_names[version];
}
