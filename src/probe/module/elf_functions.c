/* The function symbols of a binary: .symtab, .dynsym and the versions of its symbols. */
#include <errno.h>
#include <string.h>

#include "elf/section.h"
#include "elf/symbol_table.h"
#include "probe/module/binary.h"

/* Fills FUNCTION from symbol I; false if that is nothing that the file defines. */
static bool read_function(const struct symbol_table *table, const Elf64_Sym *symbol, size_t i,
                          struct function_symbol *function)
{
    const char *name = symbol_table_name(table, symbol);
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    /* NOTYPE: assembly without .type; what is not code is sorted out by its address. */
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || !name ||
        (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT &&
         (type != STT_NOTYPE || symbol->st_value == 0)))
        return false;
    const char *end = strchrnul(name, '@'), *at = end > name && *end ? end : NULL;
    size_t length = end > name ? (size_t)(end - name) : strlen(name);
    if (!length)
        return false;
    *function = (struct function_symbol){
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
        function->version = symbol_table_version(table, i, &function->old);
    } else if (at) {
        function->old = at[1] != '@'; /* name@VERSION; name@@VERSION is the default */
        function->version = at + 1 + !function->old;
    }
    return true;
}

int binary_functions(const struct binary *binary, function_visit *visit, void *context)
{
    static const unsigned types[] = {SHT_SYMTAB, SHT_DYNSYM};
    const struct elf_file *elf = binary_elf(binary);
    int result = 0;
    for (size_t t = 0; t < 2 && !result; t++) {
        struct symbol_table table;
        int opened = symbol_table_open(&table, elf, section_find(elf, types[t], NULL), SECTION_MAX);
        if (opened == -ENOMEM)
            result = opened;
        if (opened == 0) {
            if (types[t] == SHT_DYNSYM)
                result = symbol_table_read_versions(&table);
            const Elf64_Sym *symbol;
            unsigned file = 0; /* what is local stands behind the symbol of its file */
            for (size_t i = 0; !result && (symbol = symbol_table_at(&table, i)); i++) {
                struct function_symbol function;
                file += ELF64_ST_TYPE(symbol->st_info) == STT_FILE;
                if (!read_function(&table, symbol, i, &function))
                    continue;
                function.file = function.global ? 0 : file;
                result = visit(&function, context);
            }
        }
        symbol_table_close(&table);
    }
    return result;
}

bool binary_has_symbols(const struct binary *binary)
{
    return section_find(binary_elf(binary), SHT_SYMTAB, NULL) != NULL;
}
