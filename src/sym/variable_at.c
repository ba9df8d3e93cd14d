/* The variable at an address of an ELF file. */
#include "sym/variable_at.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "elf/section.h"
#include "elf/symbol_table.h"

enum { MAX_NAMES = 1 << 28 };

static int elf_address(const struct elf_file *elf, uint64_t offset, uint64_t *address)
{
    enum { PAGE = 65536 }; /* segments are loaded by whole pages, at most of so many bytes */
    for (uint64_t slack = 0; slack <= PAGE - 1; slack += PAGE - 1) {
        for (size_t i = 0; i < elf->segment_count; i++) {
            const Elf64_Phdr *segment = &elf->segments[i];
            if (segment->p_type != PT_LOAD || offset + slack < segment->p_offset ||
                offset >= segment->p_offset + segment->p_filesz)
                continue;
            *address = segment->p_vaddr + (offset - segment->p_offset);
            return 0;
        }
    }
    return -ENOENT;
}

/* Looks for the variable in the table of TYPE; true if there is one. */
static bool find_symbol(const struct elf_file *elf, uint32_t type, uint64_t address, struct variable_at *result)
{
    struct symbol_table table;
    bool found = false;
    int code = symbol_table_open(&table, elf, section_find(elf, type, NULL), MAX_NAMES);
    for (size_t i = 0; !code && !found && i < table.count; i++) {
        const Elf64_Sym *symbol = symbol_table_at(&table, i);
        if (!symbol || ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_shndx == SHN_UNDEF ||
            address - symbol->st_value >= symbol->st_size)
            continue;
        const char *name = symbol_table_name(&table, symbol);
        found = name && *name;
        if (found)
            snprintf(result->name, sizeof result->name, "%s", name);
        result->offset = address - symbol->st_value;
        result->size = symbol->st_size;
    }
    symbol_table_close(&table);
    return found;
}

static bool find_section(const struct elf_file *elf, uint64_t address, struct variable_at *result)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        bool loaded = (section->sh_flags & SHF_ALLOC) && !(section->sh_flags & SHF_TLS);
        if (!loaded || address - section->sh_addr >= section->sh_size)
            continue;
        snprintf(result->section, sizeof result->section, "%s", section_name(elf, section));
        result->place = address - section->sh_addr;
        return true;
    }
    return false;
}

int variable_at(const char *path, uint64_t offset, int64_t distance, struct variable_at *result)
{
    *result = (struct variable_at){0};
    int fd = elf_file_open_path(-1, path);
    if (fd < 0)
        return fd;
    struct elf_file elf;
    uint64_t address;
    int code = elf_file_open(&elf, fd);
    if (!code) {
        code = elf_address(&elf, offset, &address);
        if (!code) {
            address += (uint64_t)distance;
            bool section = find_section(&elf, address, result);
            bool symbol =
                find_symbol(&elf, SHT_SYMTAB, address, result) || find_symbol(&elf, SHT_DYNSYM, address, result);
            result->address = address - result->offset;
            code = section || symbol ? 0 : -ENOENT;
        }
        elf_file_close(&elf);
    }
    close(fd);
    return code;
}
