/* The function symbols of a binary: .symtab, .dynsym and the versions of its symbols. */
#include <stdlib.h>
#include <string.h>

#include "probe/module/binary.h"

enum { VERSION_HIDDEN = 0x8000, MAX_VERSIONS = VERSION_HIDDEN }; /* glibc has about 40 versions */

/* A symbol table with its strings. */
struct table {
    Elf64_Sym *symbols;
    size_t count;
    char *names;
    size_t names_size;
    uint16_t *versions;      /* one for each symbol, or NULL */
    uint32_t *version_names; /* offset in NAMES of each version's name, or 0 */
    size_t version_count;
};

static void table_free(struct table *table)
{
    free(table->symbols);
    free(table->names);
    free(table->versions);
    free(table->version_names);
}

/* The names of the versions that the file defines, from .gnu.version_d; without them there are none. */
static void read_version_names(const struct binary *binary, struct table *table)
{
    const Elf64_Shdr *section = elffile_section(binary_elf(binary), SHT_GNU_verdef, NULL);
    size_t size, at = 0;
    uint8_t *bytes = binary_section(binary, section, &size);
    if (!bytes)
        return;
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
}

/* False where there is no such table or it is damaged; the caller frees in either case. */
static bool read_table(const struct binary *binary, unsigned type, struct table *table)
{
    memset(table, 0, sizeof *table);
    const struct elffile *elf = binary_elf(binary);
    const Elf64_Shdr *section = elffile_section(elf, type, NULL);
    if (!section || section->sh_link >= elf->section_count)
        return false;
    size_t size;
    table->symbols = binary_section(binary, section, &size);
    table->names = binary_section(binary, &elf->sections[section->sh_link], &table->names_size);
    if (!table->symbols || !table->names)
        return false;
    table->count = size / sizeof *table->symbols;
    if (type == SHT_DYNSYM) {
        table->versions = binary_section(binary, elffile_section(elf, SHT_GNU_versym, NULL), &size);
        if (table->versions && size / sizeof *table->versions >= table->count) {
            read_version_names(binary, table);
        } else {
            free(table->versions);
            table->versions = NULL;
        }
    }
    return true;
}

static const char *version_name(const struct table *table, unsigned version)
{
    if (version <= VER_NDX_GLOBAL || version >= table->version_count || !table->version_names)
        return NULL;
    return table->names + table->version_names[version];
}

/* Fills FUNCTION from symbol I; false if that is nothing that the file defines. */
static bool read_function(const struct table *table, size_t i, struct function *function)
{
    const Elf64_Sym *symbol = &table->symbols[i];
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    /* NOTYPE: assembly without .type; what is not code is sorted out by its address. */
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || symbol->st_name >= table->names_size ||
        (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT &&
         (type != STT_NOTYPE || symbol->st_value == 0)))
        return false;
    const char *name = table->names + symbol->st_name;
    size_t length = strcspn(name, "@");
    const char *at = length && name[length] ? name + length : NULL;
    if (!length)
        length = strlen(name);
    if (!length)
        return false;
    *function = (struct function){
        .name = name,
        .name_length = length,
        .address = symbol->st_value,
        .size = symbol->st_size,
        .typed = type == STT_FUNC || type == STT_GNU_IFUNC,
        .data = type == STT_OBJECT,
        .ifunc = type == STT_GNU_IFUNC,
        .global = ELF64_ST_BIND(symbol->st_info) != STB_LOCAL,
    };
    if (table->versions) {
        function->old = table->versions[i] & VERSION_HIDDEN;
        function->version = version_name(table, table->versions[i] & ~(unsigned)VERSION_HIDDEN);
    } else if (at) {
        function->old = at[1] != '@'; /* name@VERSION; name@@VERSION is the default */
        function->version = at + 1 + !function->old;
    }
    return true;
}

int binary_functions(const struct binary *binary, function_visit *visit, void *context)
{
    static const unsigned types[] = {SHT_SYMTAB, SHT_DYNSYM};
    int result = 0;
    for (size_t t = 0; t < 2 && !result; t++) {
        struct table table;
        if (read_table(binary, types[t], &table)) {
            for (size_t i = 0; i < table.count && !result; i++) {
                struct function function;
                if (read_function(&table, i, &function))
                    result = visit(&function, context);
            }
        }
        table_free(&table);
    }
    return result;
}

bool binary_has_symbols(const struct binary *binary)
{
    return elffile_section(binary_elf(binary), SHT_SYMTAB, NULL) != NULL;
}
