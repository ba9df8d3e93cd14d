/* Names of the stubs in procedure linkage tables. */
#include "sym/plt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"
#include "elf/section.h"
#include "elf/symbol_table.h"
#include "sym/demangle.h"

enum {
    MAX_CODE = 1 << 24,     /* bytes of one section of stubs: a million of them */
    MAX_SLOTS = 1 << 20,    /* relocations that name a function */
    MAX_TABLE = 1 << 26,    /* bytes of a table that is read as a whole */
    MAX_ENTRIES = 1 << 20,  /* stubs */
    DEFAULT_SIZE = 16,      /* of a stub, where the section does not say */
    RELOCATIONS_READ = 4096 /* at a time */
};

/* A slot of the global offset table, and the symbol whose address it gets. */
struct got_slot {
    uint64_t address;
    uint32_t symbol;
};

struct got_slots {
    struct got_slot *items;
    size_t count, capacity;
};

struct stub {
    uint64_t address;
    uint32_t size;
    bool whole; /* the name is as it is shown; at first it is the symbol's */
    char *name;
};

struct plt {
    struct stub *entries; /* by ascending address */
    size_t count;
};

/* What the stubs of a file are read with. */
struct stub_reader {
    const struct elf_file *elf;
    struct got_slots slots;      /* by ascending address */
    struct got_slots by_index;   /* as .rela.plt has them */
    struct symbol_table symbols; /* .dynsym, in which the relocations' symbols are */
    struct plt *plt;
    size_t capacity;
};

/* Adds the slots that SECTION, relocations, fill with addresses of symbols. */
static void read_slots(const struct elf_file *elf, const Elf64_Shdr *section, struct got_slots *slots)
{
    Elf64_Rela *chunk = malloc(RELOCATIONS_READ * sizeof *chunk);
    uint64_t left = section->sh_size / sizeof *chunk, at = section->sh_offset;
    while (chunk && left && slots->count < MAX_SLOTS) {
        size_t count = left < RELOCATIONS_READ ? (size_t)left : RELOCATIONS_READ;
        if (elf_file_read(elf, at, chunk, count * sizeof *chunk))
            break;
        for (size_t i = 0; i < count && slots->count < MAX_SLOTS; i++) {
            if (!ELF64_R_SYM(chunk[i].r_info))
                continue;
            if (!array_room(&slots->items, slots->count, &slots->capacity, sizeof *slots->items))
                break;
            slots->items[slots->count++] = (struct got_slot){chunk[i].r_offset, (uint32_t)ELF64_R_SYM(chunk[i].r_info)};
        }
        left -= count;
        at += count * sizeof *chunk;
    }
    free(chunk);
}

/* Slots and stubs both begin with their address. */
static int by_address(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* The symbol whose address the slot at ADDRESS gets; 0: none. */
static uint32_t symbol_of(const struct got_slots *slots, uint64_t address)
{
    const struct got_slot *found =
        slots->count ? bsearch(&address, slots->items, slots->count, sizeof *found, by_address) : NULL;
    return found ? found->symbol : 0;
}

/* Adds ENTRY, a stub for SYMBOL: false where there is no more room. */
static bool push_entry(struct stub_reader *reader, struct stub entry, uint32_t symbol)
{
    struct plt *plt = reader->plt;
    const Elf64_Sym *named = symbol_table_at(&reader->symbols, symbol);
    const char *name = named ? symbol_table_name(&reader->symbols, named) : NULL;
    if (!name)
        return true;
    if (plt->count >= MAX_ENTRIES || !array_room(&plt->entries, plt->count, &reader->capacity, sizeof *plt->entries))
        return false;
    entry.name = strdup(name);
    plt->entries[plt->count++] = entry;
    return true;
}

/* Adds the stubs of SECTION. */
static void read_entries(struct stub_reader *reader, const Elf64_Shdr *section)
{
    bool sized = section->sh_entsize >= 4 && section->sh_entsize <= 64;
    size_t size, step = sized ? (size_t)section->sh_entsize : DEFAULT_SIZE;
    uint8_t *code = section_read(reader->elf, section, MAX_CODE, &size);
    bool room = true;
    for (size_t at = 0; code && room && at + step <= size; at += step) {
        struct stub entry = {.address = section->sh_addr + at, .size = (uint32_t)step};
        uint64_t slot;
        uint32_t index, symbol = 0;
        switch (arch_stub(code + at, step, entry.address, &slot, &index)) {
        case ARCH_STUB_SLOT:
            symbol = symbol_of(&reader->slots, slot);
            break;
        case ARCH_STUB_INDEX:
            if (index < reader->by_index.count && !reader->elf->made_up) /* elsewhere it may be other code */
                symbol = reader->by_index.items[index].symbol;
            break;
        case ARCH_STUB_NONE:
            break;
        }
        if (symbol)
            room = push_entry(reader, entry, symbol);
    }
    free(code);
}

/* True if NAME is that of a section of stubs. */
static bool has_stubs(const struct elf_file *elf, const Elf64_Shdr *section)
{
    static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".plt.bnd"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(section_name(elf, section), names[i]))
            return true;
    return elf->made_up && section->sh_flags & SHF_EXECINSTR; /* they are somewhere there */
}

static void read_stubs(struct stub_reader *reader)
{
    const struct elf_file *elf = reader->elf;
    const Elf64_Shdr *own = section_find(elf, SHT_RELA, ".rela.plt");
    const Elf64_Shdr *others = section_find(elf, SHT_RELA, ".rela.dyn");
    const Elf64_Shdr *symbols = section_find(elf, SHT_DYNSYM, NULL);
    if (!symbols || symbols->sh_size > MAX_TABLE || symbol_table_open(&reader->symbols, elf, symbols, MAX_TABLE))
        return;
    if (own) {
        read_slots(elf, own, &reader->by_index);
        read_slots(elf, own, &reader->slots);
    }
    if (others && section_find(elf, SHT_PROGBITS, ".plt.got"))
        read_slots(elf, others, &reader->slots);
    if (reader->slots.count)
        qsort(reader->slots.items, reader->slots.count, sizeof *reader->slots.items, by_address);
    for (size_t i = 0; i < elf->section_count; i++)
        if (has_stubs(elf, &elf->sections[i]))
            read_entries(reader, &elf->sections[i]);
}

struct plt *plt_load(const struct elf_file *elf)
{
    bool any = false;
    for (size_t i = 0; i < elf->section_count && !any; i++)
        any = has_stubs(elf, &elf->sections[i]);
    struct stub_reader reader = {.elf = elf, .plt = any ? calloc(1, sizeof *reader.plt) : NULL};
    if (!reader.plt)
        return NULL;
    read_stubs(&reader);
    free(reader.slots.items);
    free(reader.by_index.items);
    symbol_table_close(&reader.symbols);
    if (!reader.plt->count) {
        plt_free(reader.plt);
        return NULL;
    }
    qsort(reader.plt->entries, reader.plt->count, sizeof *reader.plt->entries, by_address);
    return reader.plt;
}

void plt_free(struct plt *plt)
{
    if (!plt)
        return;
    for (size_t i = 0; i < plt->count; i++)
        free(plt->entries[i].name);
    free(plt->entries);
    free(plt);
}

/* NAME, a symbol's, as a stub is shown. Takes it over; NULL without memory. */
static char *stub_name(char *name)
{
    char *shown = name && name[0] ? demangle(name) : NULL, *result = NULL;
    if (shown && asprintf(&result, "%s@plt", shown) < 0)
        result = NULL;
    free(shown);
    free(name);
    return result;
}

const char *plt_lookup(struct plt *plt, uint64_t address, uint64_t *offset)
{
    size_t below = array_up_to(plt->entries, plt->count, sizeof *plt->entries, address);
    struct stub *entry = below ? &plt->entries[below - 1] : NULL;
    if (!entry || address - entry->address >= entry->size)
        return NULL;
    if (!entry->whole) {
        entry->name = stub_name(entry->name);
        entry->whole = true;
    }
    *offset = address - entry->address;
    return entry->name;
}
