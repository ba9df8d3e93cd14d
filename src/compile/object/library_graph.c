/* The symbols and relocations of the library's code, as libbpf's linker and clang leave them. */
#include "compile/object/library_graph.h"

#include <linux/bpf.h>
#include <string.h>

int library_graph_open(struct library_graph *graph, const void *library, size_t size)
{
    size_t names;
    *graph = (struct library_graph){0};
    if (elf_version(EV_CURRENT) == EV_NONE || !(graph->elf = elf_memory((char *)library, size)) ||
        elf_getshdrstrndx(graph->elf, &names))
        return -1;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(graph->elf, section));) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(graph->elf, names, header.sh_name) : NULL;
        if (!name)
            return -1;
        if (header.sh_type == SHT_SYMTAB) {
            graph->symbols = elf_getdata(section, NULL);
            graph->strings = header.sh_link;
        } else if (!strcmp(name, ".text")) {
            graph->text = elf_getdata(section, NULL);
            graph->text_index = elf_ndxscn(section);
        } else if (!strcmp(name, ".rel.text")) {
            graph->relocations = elf_getdata(section, NULL);
        } else if (!strcmp(name, ".maps")) {
            graph->maps_index = elf_ndxscn(section);
        }
    }
    if (!graph->symbols || !graph->text || !graph->relocations || !graph->maps_index)
        return -1;
    graph->symbol_count = graph->symbols->d_size / sizeof(Elf64_Sym);
    graph->relocation_count = graph->relocations->d_size / sizeof(Elf64_Rel);
    return 0;
}

void library_graph_close(struct library_graph *graph)
{
    elf_end(graph->elf);
    *graph = (struct library_graph){0};
}

const char *library_graph_name(const struct library_graph *graph, const GElf_Sym *symbol)
{
    const char *name = elf_strptr(graph->elf, graph->strings, symbol->st_name);
    return name ? name : "";
}

size_t library_graph_function_at(const struct library_graph *graph, uint64_t offset)
{
    GElf_Sym symbol;
    for (size_t i = 1; i < graph->symbol_count; i++)
        if (gelf_getsym(graph->symbols, (int)i, &symbol) && GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
            symbol.st_shndx == graph->text_index && offset >= symbol.st_value &&
            offset - symbol.st_value < symbol.st_size)
            return i;
    return 0;
}

size_t library_graph_reference(const struct library_graph *graph, size_t number, uint64_t *offset)
{
    GElf_Rel relocation;
    GElf_Sym symbol;
    if (!gelf_getrel(graph->relocations, (int)number, &relocation))
        return 0;
    *offset = relocation.r_offset;
    size_t index = GELF_R_SYM(relocation.r_info);
    if (!gelf_getsym(graph->symbols, (int)index, &symbol) || index >= graph->symbol_count)
        return 0;
    if (GELF_ST_TYPE(symbol.st_info) != STT_SECTION)
        return index;
    struct bpf_insn instruction;
    if (symbol.st_shndx != graph->text_index || relocation.r_offset > graph->text->d_size - sizeof instruction)
        return 0;
    memcpy(&instruction, (char *)graph->text->d_buf + relocation.r_offset, sizeof instruction);
    int is_call = instruction.code == (BPF_JMP | BPF_CALL);
    return library_graph_function_at(graph, is_call ? (uint64_t)(instruction.imm + 1) * sizeof instruction
                                                    : (uint32_t)instruction.imm);
}
