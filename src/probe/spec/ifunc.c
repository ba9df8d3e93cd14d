/* Finds the implementation of an indirect function that a process has chosen. */
#include "probe/spec/ifunc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "arch/arch.h"
#include "elf/section.h"
#include "elf/symbol_table.h"

enum { MAX_RELOCATIONS = 1 << 22 }; /* of one section; a browser has 1.5 million */

/* What is looked for, and where. */
struct ifunc {
    const struct binary *binary; /* of the function */
    const struct ifunc_name *name;
    uint64_t resolver, bias; /* BIAS: what its ELF addresses differ from the process's by */
    pid_t pid;
    const struct maps *maps;
    uint64_t found; /* the implementation; 0: none so far */
};

/* The implementation's address if the word at SLOT in the process is one; else 0. */
static uint64_t read_slot(const struct ifunc *ifunc, uint64_t slot)
{
    uint64_t value, offset;
    struct iovec here = {&value, sizeof value}, there = {(void *)(uintptr_t)slot, sizeof value};
    if (process_vm_readv(ifunc->pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof value)
        return 0;
    value -= ifunc->bias;
    return value != ifunc->resolver && binary_offset(ifunc->binary, value, &offset) == 0 ? value : 0;
}

/* True if the version that the symbol NUMBER is linked with may be the function's. */
static bool is_version(const struct ifunc *ifunc, const struct symbol_table *symbols, size_t number)
{
    bool old;
    const char *version = ifunc->name->version ? symbol_table_version(symbols, number, &old) : NULL;
    return !version || strcmp(version, ifunc->name->version) == 0;
}

/* True if RELOCATION of a module gives a slot the address of the function sought. OWN: the module defines it. */
static bool is_wanted(const struct ifunc *ifunc, struct symbol_table *symbols, const Elf64_Rela *relocation, bool own)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(relocation->r_info);
    uint64_t number = ELF64_R_SYM(relocation->r_info);
    if (type == arch_cpu.relocation_indirect)
        return own && (uint64_t)relocation->r_addend == ifunc->resolver;
    const Elf64_Sym *symbol = number && !relocation->r_addend ? symbol_table_at(symbols, number) : NULL;
    const char *name = symbol ? symbol_table_name(symbols, symbol) : NULL;
    return name && strcmp(name, ifunc->name->name) == 0 && is_version(ifunc, symbols, number);
}

/* Looks for the implementation in the slots of MODULE. 0, or -ENOMEM. */
static int search_module(struct ifunc *ifunc, const struct binary *module, bool own)
{
    const struct elf_file *elf = binary_elf(module);
    struct symbol_table symbols;
    uint64_t bias;
    if (!binary_bias(module, ifunc->maps, &bias))
        return 0;
    int opened = symbol_table_open(&symbols, elf, section_find(elf, SHT_DYNSYM, NULL), SECTION_MAX);
    bool exhausted = opened == -ENOMEM || (opened == 0 && symbol_table_read_versions(&symbols) == -ENOMEM);
    for (size_t s = 0; s < elf->section_count && !ifunc->found && !exhausted; s++) {
        size_t size;
        if (elf->sections[s].sh_type != SHT_RELA)
            continue;
        Elf64_Rela *relocations = section_read(elf, &elf->sections[s], SECTION_MAX, &size);
        exhausted = !relocations && errno == ENOMEM;
        size_t count = relocations ? size / sizeof *relocations : 0;
        for (size_t i = 0; i < count && i < MAX_RELOCATIONS && !ifunc->found; i++)
            if (is_wanted(ifunc, &symbols, &relocations[i], own))
                ifunc->found = read_slot(ifunc, bias + relocations[i].r_offset);
        free(relocations);
    }
    symbol_table_close(&symbols);
    return exhausted ? -ENOMEM : 0;
}

/* Looks for it in all modules of the process; what cannot be read has no slots. 0, or -ENOMEM. */
static int search_process(struct ifunc *ifunc)
{
    struct modules modules = {0};
    const struct elf_file *own = binary_elf(ifunc->binary);
    int result = search_module(ifunc, ifunc->binary, true);
    if (result == 0 && !ifunc->found)
        result = modules_of_process(ifunc->pid, &modules, NULL);
    for (size_t i = 0; i < modules.count && result != -ENOMEM && !ifunc->found; i++) {
        struct binary *module;
        if (modules.items[i].inode == own->stat.st_ino && modules.items[i].device == own->stat.st_dev)
            continue;
        result = binary_open(&modules.items[i], &module, NULL);
        if (result < 0)
            continue;
        result = search_module(ifunc, module, false);
        binary_close(module);
    }
    modules_free(&modules);
    return result == -ENOMEM ? result : 0;
}

int ifunc_implementation(const struct binary *binary, const struct ifunc_name *name, uint64_t resolver, pid_t pid,
                         uint64_t *address)
{
    struct maps maps = {0};
    struct ifunc ifunc = {.binary = binary, .name = name, .resolver = resolver, .pid = pid, .maps = &maps};
    int result = maps_read(&maps, pid);
    if (result == 0 && binary_bias(binary, &maps, &ifunc.bias))
        result = search_process(&ifunc);
    maps_free(&maps);
    *address = ifunc.found;
    return result == -ENOMEM ? result : ifunc.found ? 0 : -ENOENT;
}
