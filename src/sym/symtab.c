/*
 * A symbol table says which functions there are; they may nest, overlap, share addresses or lack a size. All this is
 * settled once, when the table is loaded: the address space is cut into spans, each of which has one owner or none.
 * A lookup is then one binary search.
 */
#include "sym/symtab.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "elf/frame_header.h"
#include "elf/section.h"
#include "elf/symbol_table.h"
#include "sym/demangle.h"
#include "sym/spans.h"

enum {
    MAX_FUNCTIONS = 1 << 22,   /* a browser has half a million */
    MAX_TABLE_NAMES = 1 << 26, /* beyond this many bytes, names are not looked at to choose among aliases */
    MAX_COMPARED = 255,        /* among aliases, longer names count as equally long */
    MAX_NAME = 1 << 16,        /* bytes of a mangled name that are read */
};

/* A function as the file has it. */
struct candidate {
    uint64_t address, end; /* of an unsized function: of its section, until settle_ends() */
    uint32_t name;
    uint8_t name_length;
    uint8_t rank; /* the lowest of those at one address gives the name */
    bool sized, label;
};

struct symtab_entry {
    uint64_t address;
    uint32_t name; /* offset in the string table */
};

struct symtab {
    struct elf_file file; /* only fd and stat */
    uint64_t names, names_size;
    size_t function_count;
    struct symtab_entry *functions;
    char **texts;       /* per function: its name once asked for */
    struct spans spans; /* of indices into functions */
};

static char no_name[] = ""; /* in texts: the name cannot be read */

struct candidates {
    struct candidate *items;
    size_t count, capacity;
};

static int candidates_push(struct candidates *list, const struct candidate *candidate)
{
    if (list->count >= MAX_FUNCTIONS)
        return -EFBIG;
    if (!array_room(&list->items, list->count, &list->capacity, sizeof *list->items))
        return -ENOMEM;
    list->items[list->count++] = *candidate;
    return 0;
}

/*
 * Ranks the names of one address: a function's before a label's, an exported one before a local, "calloc" before
 * "__libc_calloc" although the C library makes the former the weak one, global before weak. Names with two underscores
 * are an implementation's own: of a static PIE, "malloc" is local and "__malloc" is not.
 */
enum { RANK_WEAK = 1, RANK_UNDERSCORE = 2, RANK_LOCAL = 3, RANK_LABEL = 16 };

static uint8_t rank_of(bool label, unsigned binding, const char *name)
{
    unsigned rank = (label ? RANK_LABEL : 0) + (binding == STB_LOCAL  ? RANK_LOCAL
                                                : binding == STB_WEAK ? RANK_WEAK
                                                                      : 0);
    size_t underscores = name ? strspn(name, "_") : 0;
    if (underscores == 1 && (name[1] == 'Z' || name[1] == 'R')) /* mangled C++ or Rust */
        underscores = 0;
    return (uint8_t)(rank + RANK_UNDERSCORE * (underscores < 3 ? underscores : 3));
}

/* Where the section ends that SYMBOL of ELF, which has it as code, is in; false: it is in none of code. */
static bool find_end(const struct elf_file *elf, const Elf64_Sym *symbol, uint64_t *end)
{
    if (elf->made_up) {
        const Elf64_Phdr *segment = elf_file_segment_at(elf, symbol->st_value, PF_X);
        if (!segment || (symbol->st_shndx >= SHN_LORESERVE && symbol->st_shndx != SHN_XINDEX))
            return false;
        *end = segment->p_vaddr + segment->p_filesz;
        return true;
    }
    if (symbol->st_shndx >= elf->section_count) /* else absolute, common, or damaged */
        return symbol->st_shndx == SHN_XINDEX;
    const Elf64_Shdr *section = &elf->sections[symbol->st_shndx];
    return section->sh_flags & SHF_EXECINSTR && !__builtin_add_overflow(section->sh_addr, section->sh_size, end) &&
           symbol->st_value < *end;
}

/* Fills CANDIDATE from SYMBOL of TABLE; false if it is no function that code can be in. */
static bool is_function(const struct symbol_table *table, const Elf64_Sym *symbol, struct candidate *candidate)
{
    const struct elf_file *elf = table->elf;
    unsigned type = ELF64_ST_TYPE(symbol->st_info), binding = ELF64_ST_BIND(symbol->st_info);
    bool label = type == STT_NOTYPE;
    if (!label && type != STT_FUNC && type != STT_GNU_IFUNC)
        return false;
    if (symbol->st_shndx == SHN_UNDEF || !symbol->st_name || symbol->st_name >= table->names_size)
        return false;
    uint64_t section_end = UINT64_MAX;
    if (!find_end(elf, symbol, &section_end))
        return false;
    bool sized = symbol->st_size != 0;
    uint64_t end = section_end;
    if (sized && __builtin_add_overflow(symbol->st_value, symbol->st_size, &end))
        end = UINT64_MAX;
    uint8_t length = 0;
    const char *name = symbol_table_name(table, symbol);
    if (name) {
        if (label && name[0] == '$') /* ARM and RISC-V mark code and data in between with $x, $d */
            return false;
        length = (uint8_t)strnlen(name, MAX_COMPARED);
        if (!length)
            return false;
    }
    *candidate = (struct candidate){.address = symbol->st_value,
                                    .end = end,
                                    .name = symbol->st_name,
                                    .name_length = length,
                                    .rank = rank_of(label, binding, name),
                                    .sized = sized,
                                    .label = label};
    return true;
}

static int read_candidates(struct symbol_table *table, struct candidates *list)
{
    int rc = 0;
    for (size_t i = 0; i < table->count && !rc; i++) {
        struct candidate candidate;
        const Elf64_Sym *symbol = symbol_table_at(table, i);
        if (!symbol)
            rc = -ENODATA;
        else if (is_function(table, symbol, &candidate))
            rc = candidates_push(list, &candidate);
    }
    return rc;
}

static int by_address_and_rank(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank - b->rank;
    if (a->name_length != b->name_length)
        return a->name_length - b->name_length;
    return (a->name > b->name) - (a->name < b->name);
}

/*
 * Gives functions without a size their end: where the next one begins, or earlier, where the call frame information of
 * CODE says. Whoever strips a file leaves what is exported, such as a function in assembler, between what is not.
 * CODE's addresses are SHIFT below the symbols'.
 */
static void settle_ends(struct candidates *list, const struct elf_file *code, uint64_t shift)
{
    struct frame_header frames = {0};
    bool read = false;
    for (size_t i = 0; i < list->count; i++) {
        struct candidate *item = &list->items[i];
        if (item->sized)
            continue;
        if (!read)
            frame_header_read(&frames, code); /* which has no rows where it cannot be */
        read = true;
        if (i + 1 < list->count && item->end > item[1].address)
            item->end = item[1].address;
        uint64_t end = frame_header_end(&frames, item->address - shift);
        if (end != UINT64_MAX && item->end > end + shift)
            item->end = end + shift;
    }
    frame_header_free(&frames);
}

/* Sorts; leaves one candidate per address. */
static void settle(struct candidates *list)
{
    struct candidate *items = list->items;
    qsort(items, list->count, sizeof *items, by_address_and_rank);
    size_t kept = 0;
    uint64_t covered = 0; /* end of the sized functions so far */
    for (size_t i = 0; i < list->count;) {
        struct candidate best = items[i];
        for (i++; i < list->count && items[i].address == best.address; i++) {
            if (!items[i].sized || items[i].rank >= RANK_LABEL)
                continue;
            if (!best.sized || items[i].end > best.end)
                best.end = items[i].end;
            best.sized = true;
        }
        if (best.label && !best.sized && best.address < covered)
            continue; /* a label inside a function written in assembler is no function */
        if (best.sized && best.end > covered)
            covered = best.end;
        items[kept++] = best;
    }
    list->count = kept;
}

/* Cuts the address space: a function owns what it contains, except for what a later one contains. */
static int cut(struct symtab *symtab, const struct candidates *list)
{
    struct interval *items = malloc(list->count * sizeof *items);
    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < list->count; i++) {
        symtab->functions[i] = (struct symtab_entry){list->items[i].address, list->items[i].name};
        items[i] = (struct interval){list->items[i].address, list->items[i].end, (uint32_t)i};
    }
    int rc = spans_build(&symtab->spans, items, list->count);
    free(items);
    return rc;
}

int symtab_load(struct symtab **result, const struct elf_file *elf, uint32_t type, const struct elf_file *code,
                uint64_t shift)
{
    struct symbol_table table;
    struct candidates list = {0};
    struct symtab *symtab = NULL;
    int rc = symbol_table_open(&table, elf, section_find(elf, type, NULL), MAX_TABLE_NAMES);
    if (!rc)
        rc = read_candidates(&table, &list);
    if (!rc && !list.count)
        rc = -ENOENT;
    if (!rc && !(symtab = calloc(1, sizeof *symtab)))
        rc = -ENOMEM;
    if (rc)
        goto out;
    symtab->file.stat = elf->stat;
    symtab->names = table.strings->sh_offset;
    symtab->names_size = table.names_size;
    symtab->file.fd = fcntl(elf->fd, F_DUPFD_CLOEXEC, 0);
    if (symtab->file.fd < 0) {
        rc = -errno;
        goto out;
    }
    settle(&list);
    settle_ends(&list, code, shift);
    rc = -ENOMEM;
    symtab->function_count = list.count;
    symtab->functions = malloc(list.count * sizeof *symtab->functions);
    symtab->texts = calloc(list.count, sizeof *symtab->texts);
    if (symtab->functions && symtab->texts)
        rc = cut(symtab, &list);
out:
    free(list.items);
    symbol_table_close(&table);
    if (rc)
        symtab_free(symtab);
    else
        *result = symtab;
    return rc;
}

int symtab_fd(const struct symtab *symtab)
{
    return symtab->file.fd;
}

void symtab_free(struct symtab *symtab)
{
    if (!symtab)
        return;
    for (size_t i = 0; symtab->texts && i < symtab->function_count; i++)
        if (symtab->texts[i] != no_name)
            free(symtab->texts[i]);
    free(symtab->texts);
    free(symtab->functions);
    spans_free(&symtab->spans);
    if (symtab->file.fd >= 0)
        close(symtab->file.fd);
    free(symtab);
}

/* Reads the name at OFFSET of the string table. NULL if the file has been changed since or the name is damaged. */
static char *read_name(const struct symtab *symtab, uint64_t offset)
{
    struct stat now;
    const struct stat *then = &symtab->file.stat;
    if (fstat(symtab->file.fd, &now) || now.st_size != then->st_size || now.st_mtim.tv_sec != then->st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != then->st_mtim.tv_nsec)
        return NULL;
    char *result = NULL, *name = NULL;
    uint64_t left = symtab->names_size - offset;
    for (size_t size = 256;; size = MAX_NAME) { /* few names are longer than 255 */
        size_t length = left < size ? (size_t)left : size;
        char *grown = realloc(name, length + 1);
        if (!grown)
            break;
        name = grown;
        if (elf_file_read(&symtab->file, symtab->names + offset, name, length))
            break;
        name[length] = '\0';
        if (size == MAX_NAME || memchr(name, '\0', length)) {
            result = name[0] ? demangle(name) : NULL;
            break;
        }
    }
    free(name);
    return result;
}

const char *symtab_lookup(struct symtab *symtab, uint64_t address, uint64_t *offset)
{
    uint32_t owner = spans_find(&symtab->spans, address);
    if (owner == SPANS_NOBODY)
        return NULL;
    char **text = &symtab->texts[owner];
    if (!*text) {
        char *name = read_name(symtab, symtab->functions[owner].name);
        *text = name ? name : no_name;
    }
    *offset = address - symtab->functions[owner].address;
    return *text == no_name ? NULL : *text;
}
