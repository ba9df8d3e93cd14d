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

static void name_version(struct symbol_table *table, unsigned number, uint32_t name)
{
    number &= ~(unsigned)VERSION_HIDDEN;
    if (number < table->version_count && name < table->names_size)
        table->version_names[number] = name;
}

/* Reads SIZE bytes at AT of the COUNT ones at BYTES into RESULT; false where they end before. */
static bool take(const uint8_t *bytes, size_t count, size_t at, void *result, size_t size)
{
    if (at > count || count - at < size)
        return false;
    memcpy(result, bytes + at, size);
    return true;
}

/* The names of the versions that the file defines, from .gnu.version_d. */
static void name_defined(struct symbol_table *table, const uint8_t *bytes, size_t size, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        Elf64_Verdef definition;
        Elf64_Verdaux auxiliary;
        if (!take(bytes, size, at, &definition, sizeof definition) ||
            !take(bytes, size, at + definition.vd_aux, &auxiliary, sizeof auxiliary))
            return;
        name_version(table, definition.vd_ndx, auxiliary.vda_name);
        if (!definition.vd_next)
            return;
        at += definition.vd_next;
    }
}

/* Those that it needs of others, from .gnu.version_r. */
static void name_needed(struct symbol_table *table, const uint8_t *bytes, size_t size, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        Elf64_Verneed need;
        if (!take(bytes, size, at, &need, sizeof need))
            return;
        size_t aux = at + need.vn_aux;
        for (unsigned k = 0; k < need.vn_cnt; k++) {
            Elf64_Vernaux auxiliary;
            if (!take(bytes, size, aux, &auxiliary, sizeof auxiliary))
                return;
            name_version(table, auxiliary.vna_other, auxiliary.vna_name);
            if (!auxiliary.vna_next)
                break;
            aux += auxiliary.vna_next;
        }
        if (!need.vn_next)
            return;
        at += need.vn_next;
    }
}

/* Has FILL name the versions of TABLE from the section of TYPE, if there is one. 0, or -ENOMEM. */
static int read_version_names(struct symbol_table *table, unsigned type,
                              void (*fill)(struct symbol_table *, const uint8_t *, size_t, size_t))
{
    const Elf64_Shdr *section = section_find(table->elf, type, NULL);
    size_t size;
    uint8_t *bytes = section_read(table->elf, section, SECTION_MAX, &size);
    if (!bytes)
        return errno == ENOMEM ? -ENOMEM : 0;
    fill(table, bytes, size, section->sh_info < MAX_VERSIONS ? section->sh_info : MAX_VERSIONS);
    free(bytes);
    return 0;
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
    for (size_t i = 0; i < table->count; i++) {
        size_t number = versions[i] & ~(unsigned)VERSION_HIDDEN;
        table->version_count = number >= table->version_count ? number + 1 : table->version_count;
    }
    table->version_names = calloc(table->version_count + 1, sizeof *table->version_names);
    int result = table->version_names ? read_version_names(table, SHT_GNU_verdef, name_defined) : -ENOMEM;
    return result < 0 ? result : read_version_names(table, SHT_GNU_verneed, name_needed);
}

const char *symbol_table_version(const struct symbol_table *table, size_t i, bool *old)
{
    unsigned version = table->versions ? table->versions[i] : VER_NDX_GLOBAL;
    *old = version & VERSION_HIDDEN;
    version &= ~(unsigned)VERSION_HIDDEN;
    if (version <= VER_NDX_GLOBAL || version >= table->version_count || !table->version_names || !table->names)
        return NULL;
    return table->version_names[version] ? table->names + table->version_names[version] : NULL;
}
