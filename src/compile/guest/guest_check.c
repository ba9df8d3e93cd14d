/*
 * libbpf 1.1 follows names, numbers of types and numbers of symbols without asking whether they lead anywhere (later
 * ones check the types: btf_sanity_check): an object whose references were damaged would end uplua. Checked here are
 * references only; what they mean is libbpf's and the kernel's to judge.
 */
#include "compile/guest/guest_check.h"

#include <linux/btf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "elf/section.h"
#include "elf/symbol_table.h"
#include "sys/btf_sections.h"

static const char sections_damaged[] = "it is damaged: its sections or symbols lead nowhere";
static const char types_damaged[] = "it is damaged: its BTF leads nowhere";

enum { DEEPEST = 32 }; /* of types of types, as libbpf's MAX_RESOLVE_DEPTH */

/* --- sections and symbols --- */

static bool is_table(const Elf64_Shdr *section, size_t entry)
{
    return section->sh_entsize == entry && section->sh_size % entry == 0;
}

static bool check_symbols(const struct elf_file *elf, const Elf64_Shdr *section)
{
    struct symbol_table table;
    bool good = symbol_table_open(&table, elf, section, UINT64_MAX) == 0 && is_table(section, sizeof(Elf64_Sym)) &&
                table.names_size && !table.names[table.names_size - 1];
    for (size_t i = 0; good && i < table.count; i++) {
        const Elf64_Sym *symbol = symbol_table_at(&table, i);
        good = symbol && symbol->st_name < table.names_size &&
               (symbol->st_shndx < elf->section_count || symbol->st_shndx >= SHN_LORESERVE);
    }
    symbol_table_close(&table);
    return good;
}

static bool check_relocations(const struct elf_file *elf, const Elf64_Shdr *section)
{
    const Elf64_Shdr *symbols = &elf->sections[section->sh_link];
    if (!is_table(section, sizeof(Elf64_Rel)) || section->sh_info >= elf->section_count ||
        symbols->sh_type != SHT_SYMTAB)
        return false;
    size_t size = 0;
    Elf64_Rel *list = section_read(elf, section, UINT64_MAX, &size);
    uint64_t bytes = elf->sections[section->sh_info].sh_size;
    bool good = list || !section->sh_size;
    for (size_t i = 0; good && i < size / sizeof *list; i++)
        good = ELF64_R_SYM(list[i].r_info) < symbols->sh_size / sizeof(Elf64_Sym) && list[i].r_offset < bytes;
    free(list);
    return good;
}

static bool check_sections(const struct elf_file *elf)
{
    size_t tables = 0;
    for (size_t i = 1; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        uint64_t end;
        if (section->sh_name >= elf->section_names_size || section->sh_link >= elf->section_count ||
            (section->sh_type != SHT_NOBITS &&
             (__builtin_add_overflow(section->sh_offset, section->sh_size, &end) || end > (uint64_t)elf->stat.st_size)))
            return false;
        if (section->sh_type == SHT_SYMTAB && (tables++ || !check_symbols(elf, section)))
            return false;
        if (section->sh_type == SHT_REL && !check_relocations(elf, section))
            return false;
    }
    return elf->section_count > 0 && tables == 1;
}

/* --- types --- */

struct btf_types {
    struct btf_header header;
    const uint32_t *words;        /* of all types */
    const struct btf_type **list; /* by number; 0: void */
    uint32_t count;
    const char *strings;
};

/* Finds where each type begins. */
static bool list_types(struct btf_types *types)
{
    size_t words = types->header.type_len / 4, most = words / 3 + 2;
    types->list = calloc(most, sizeof *types->list);
    if (!types->list)
        return false;
    types->count = 1;
    for (size_t at = 0; at < words;) {
        const struct btf_type *type = (const struct btf_type *)(types->words + at);
        ptrdiff_t behind = words - at >= 3 ? btf_extra_bytes(type) : -1;
        if (behind < 0 || (size_t)behind / 4 > words - at - 3)
            return false;
        types->list[types->count++] = type;
        at += 3 + (size_t)behind / 4;
    }
    return true;
}

static bool is_name(const struct btf_types *types, uint32_t offset)
{
    return offset < types->header.str_len;
}

static bool is_type(const struct btf_types *types, uint32_t number)
{
    return number < types->count;
}

/* The words behind TYPE: which are names and which types, by a letter for each of a group: n, t, or - for a number. */
static bool check_words(const struct btf_types *types, const struct btf_type *type, const char *group, uint32_t count)
{
    const uint32_t *word = (const uint32_t *)(type + 1);
    for (uint32_t i = 0; i < count; i++)
        for (const char *what = group; *what; what++, word++)
            if ((*what == 'n' && !is_name(types, *word)) || (*what == 't' && !is_type(types, *word)))
                return false;
    return true;
}

static bool check_type(const struct btf_types *types, const struct btf_type *type)
{
    uint32_t count = BTF_INFO_VLEN(type->info);
    if (!is_name(types, type->name_off))
        return false;
    switch (BTF_INFO_KIND(type->info)) {
    case BTF_KIND_PTR:
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_TYPE_TAG:
    case BTF_KIND_VAR:
    case BTF_KIND_DECL_TAG:
        return is_type(types, type->type);
    case BTF_KIND_FUNC:
        return is_type(types, type->type) &&
               BTF_INFO_KIND(types->list[type->type] ? types->list[type->type]->info : 0) == BTF_KIND_FUNC_PROTO;
    case BTF_KIND_ARRAY:
        return check_words(types, type, "tt-", 1);
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
        return check_words(types, type, "nt-", count);
    case BTF_KIND_ENUM:
        return check_words(types, type, "n-", count);
    case BTF_KIND_ENUM64:
        return check_words(types, type, "n--", count);
    case BTF_KIND_FUNC_PROTO:
        return is_type(types, type->type) && check_words(types, type, "nt", count);
    case BTF_KIND_DATASEC:
        return check_words(types, type, "t--", count);
    default:
        return true;
    }
}

/* The type that TYPE, under another name or with a qualifier, or an array of such, stands for; NULL: it stands for
 * itself. */
static const struct btf_type *behind(const struct btf_types *types, const struct btf_type *type)
{
    switch (BTF_INFO_KIND(type->info)) {
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_TYPE_TAG:
    case BTF_KIND_VAR:
        return types->list[type->type];
    case BTF_KIND_ARRAY:
        return types->list[((const struct btf_array *)(type + 1))->type];
    default:
        return NULL;
    }
}

static bool check_list(const struct btf_types *types)
{
    for (uint32_t i = 1; i < types->count; i++)
        if (!check_type(types, types->list[i]))
            return false;
    for (uint32_t i = 1; i < types->count; i++) {
        const struct btf_type *type = types->list[i];
        for (int depth = 0; type; depth++, type = behind(types, type))
            if (depth == DEEPEST) /* one that stands for itself */
                return false;
    }
    return true;
}

static bool check_btf(const struct elf_file *elf)
{
    const Elf64_Shdr *section = section_find(elf, SHT_PROGBITS, ".BTF");
    if (!section)
        return true;
    size_t size = 0;
    char *bytes = section_read(elf, section, UINT64_MAX, &size);
    struct btf_types types = {0};
    const struct btf_header *header = &types.header;
    bool good = bytes && size >= sizeof *header;
    if (good) {
        memcpy(&types.header, bytes, sizeof types.header);
        uint64_t body = header->hdr_len;
        good = header->magic == BTF_MAGIC && body >= sizeof *header && body % 4 == 0 && header->type_off % 4 == 0 &&
               header->type_len % 4 == 0 && body + header->type_off + header->type_len <= size && header->str_len > 0 &&
               body + header->str_off + header->str_len <= size;
    }
    if (good) {
        types.words = (const uint32_t *)(bytes + header->hdr_len + header->type_off);
        types.strings = bytes + header->hdr_len + header->str_off;
        good = !types.strings[0] && !types.strings[header->str_len - 1] && list_types(&types) && check_list(&types);
    }
    free(types.list);
    free(bytes);
    return good;
}

const char *guest_damage(int fd)
{
    struct elf_file elf;
    const char *why = NULL;
    if (elf_file_open(&elf, fd) < 0)
        return sections_damaged;
    if (!check_sections(&elf))
        why = sections_damaged;
    else if (!check_btf(&elf))
        why = types_damaged;
    elf_file_close(&elf);
    return why;
}
