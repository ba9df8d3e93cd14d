/* Words that the loader fills. */
#include "probe/module/loader_slots.h"

#include <stdlib.h>

#include "base/array.h"
#include "elf/section.h"

enum { MOST_RELOCATIONS = 1 << 20 }; /* of a section; slots of others are not known */

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct loader_slot *)a)->address, y = ((const struct loader_slot *)b)->address;
    return (x > y) - (x < y);
}

void loader_slots_read(struct loader_slots *slots, const struct elf_file *elf)
{
    *slots = (struct loader_slots){0};
    slots->has_symbols = symbol_table_open(&slots->symbols, elf, section_find(elf, SHT_DYNSYM, NULL), SECTION_MAX) == 0;
    for (size_t s = 0; s < elf->section_count && slots->has_symbols; s++) {
        size_t size = 0;
        if (elf->sections[s].sh_type != SHT_RELA)
            continue;
        Elf64_Rela *relocations = section_read(elf, &elf->sections[s], SECTION_MAX, &size);
        for (size_t i = 0; relocations && i < size / sizeof *relocations && i < MOST_RELOCATIONS; i++) {
            if (!array_room(&slots->items, slots->count, &slots->capacity, sizeof *slots->items))
                break;
            slots->items[slots->count++] =
                (struct loader_slot){relocations[i].r_offset, (uint64_t)relocations[i].r_addend,
                                     (uint32_t)ELF64_R_SYM(relocations[i].r_info)};
        }
        free(relocations);
    }
    if (slots->count)
        qsort(slots->items, slots->count, sizeof *slots->items, by_address);
}

void loader_slots_free(struct loader_slots *slots)
{
    if (slots->has_symbols)
        symbol_table_close(&slots->symbols);
    free(slots->items);
    *slots = (struct loader_slots){0};
}

bool loader_slots_find(struct loader_slots *slots, uint64_t address, const char **name, uint64_t *target)
{
    size_t i = array_up_to(slots->items, slots->count, sizeof *slots->items, address);
    const struct loader_slot *slot = i ? &slots->items[i - 1] : NULL;
    if (!slot || slot->address != address)
        return false;
    const Elf64_Sym *symbol = slot->symbol ? symbol_table_at(&slots->symbols, slot->symbol) : NULL;
    *name = symbol ? symbol_table_name(&slots->symbols, symbol) : NULL;
    *target = slot->symbol ? symbol && symbol->st_shndx ? symbol->st_value : 0 : slot->plus;
    return true;
}
