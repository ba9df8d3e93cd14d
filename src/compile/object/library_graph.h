/* The references of each function of bpf/: its symbols, and the functions and maps that its code uses.
 * bpf/stack_bytes.c has it, too. */
#pragma once

#include <gelf.h>
#include <stdint.h>

struct library_graph {
    Elf_Data *symbols, *relocations, *text;
    size_t symbol_count, relocation_count, strings, text_index, maps_index;
    Elf *elf;
};

/* Opens LIBRARY, an ELF object of SIZE bytes in memory that lives as long as GRAPH. 0, or -1 where parts are missing;
 * to be closed in either case. */
int library_graph_open(struct library_graph *graph, const void *library, size_t size);
void library_graph_close(struct library_graph *graph);

/* The name of SYMBOL; "" where it has none. */
const char *library_graph_name(const struct library_graph *graph, const GElf_Sym *symbol);

/* Index of the function that holds byte OFFSET of .text; 0 if there is none. */
size_t library_graph_function_at(const struct library_graph *graph, uint64_t offset);

/*
 * Relocation NUMBER: what refers to a symbol, in *OFFSET as a byte of .text. Returns the symbol's index, of a local
 * function its own; 0 where that is not known.
 */
size_t library_graph_reference(const struct library_graph *graph, size_t number, uint64_t *offset);
