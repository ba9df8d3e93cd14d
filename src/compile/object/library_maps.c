/*
 * libbpf creates every map of an object but loads only the functions that are called: a histogram would pay for the
 * stack store, whose creation takes longer (0.8 ms) than all else of a load.
 */
#include "compile/object/library_maps.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "compile/object/object_parts.h"

struct graph {
    Elf_Data *symbols, *relocations, *text;
    size_t symbol_count, strings, text_index, maps_index;
    Elf *elf;
    bool *reached; /* by symbol */
};

/* Finds the parts; 0 if the file has them all. */
static int open_graph(struct graph *graph, const void *library, size_t size)
{
    size_t names;
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
    graph->reached = calloc(graph->symbol_count, sizeof *graph->reached);
    return graph->reached ? 0 : -1;
}

static const char *symbol_name(const struct graph *graph, const GElf_Sym *symbol)
{
    const char *name = elf_strptr(graph->elf, graph->strings, symbol->st_name);
    return name ? name : "";
}

/* Index of the function that holds byte OFFSET of .text; 0 if there is none. */
static size_t function_at(const struct graph *graph, uint64_t offset)
{
    GElf_Sym symbol;
    for (size_t i = 1; i < graph->symbol_count; i++)
        if (gelf_getsym(graph->symbols, (int)i, &symbol) && GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
            symbol.st_shndx == graph->text_index && offset >= symbol.st_value &&
            offset - symbol.st_value < symbol.st_size)
            return i;
    return 0;
}

/* Index of the symbol that the relocation means: a local function is addressed through its section. */
static size_t target(const struct graph *graph, const GElf_Rel *relocation)
{
    size_t index = GELF_R_SYM(relocation->r_info);
    GElf_Sym symbol;
    if (!gelf_getsym(graph->symbols, (int)index, &symbol) || index >= graph->symbol_count)
        return 0;
    if (GELF_ST_TYPE(symbol.st_info) != STT_SECTION)
        return index;
    struct bpf_insn instruction;
    if (symbol.st_shndx != graph->text_index || relocation->r_offset > graph->text->d_size - sizeof instruction)
        return 0;
    memcpy(&instruction, (char *)graph->text->d_buf + relocation->r_offset, sizeof instruction);
    bool call = instruction.code == (BPF_JMP | BPF_CALL);
    return function_at(graph, call ? (uint64_t)(instruction.imm + 1) * sizeof instruction : (uint32_t)instruction.imm);
}

static void mark_called(struct graph *graph, const struct object *object)
{
    GElf_Sym symbol;
    for (size_t s = 1; s < graph->symbol_count; s++) {
        if (!gelf_getsym(graph->symbols, (int)s, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
            continue;
        for (size_t i = 0; i < object->program_count; i++)
            for (size_t k = 0; k < object->programs[i].reference_count; k++)
                if (object->programs[i].references[k].kind == REFERENCE_LIBRARY &&
                    !strcmp(object->programs[i].references[k].symbol, symbol_name(graph, &symbol)))
                    graph->reached[s] = true;
    }
}

/* Follows the references of reached functions until there is nothing new. */
static void mark_reached(struct graph *graph)
{
    size_t count = graph->relocations->d_size / sizeof(Elf64_Rel);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < count; i++) {
            GElf_Rel relocation;
            if (!gelf_getrel(graph->relocations, (int)i, &relocation))
                continue;
            size_t from = function_at(graph, relocation.r_offset), to = target(graph, &relocation);
            if (graph->reached[from] && !graph->reached[to]) {
                graph->reached[to] = true;
                changed = true;
            }
        }
    }
}

void library_maps_leave_out(const struct object *object, const void *library, size_t size,
                            void (*unused)(void *context, const char *name), void *context)
{
    struct graph graph = {0};
    if (!open_graph(&graph, library, size)) {
        mark_called(&graph, object);
        mark_reached(&graph);
        GElf_Sym symbol;
        for (size_t i = 1; i < graph.symbol_count; i++)
            if (gelf_getsym(graph.symbols, (int)i, &symbol) && symbol.st_shndx == graph.maps_index &&
                GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && !graph.reached[i])
                unused(context, symbol_name(&graph, &symbol));
    }
    free(graph.reached);
    elf_end(graph.elf);
}
