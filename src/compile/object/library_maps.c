/*
 * libbpf creates every map of an object but loads only the functions that are called: a histogram would pay for the
 * stack store, whose creation takes longer (0.8 ms) than all else of a load.
 */
#include "compile/object/library_maps.h"

#include <stdlib.h>
#include <string.h>

#include "compile/object/library_graph.h"
#include "compile/object/object_parts.h"

/* Marks in REACHED, by symbol, the functions that the programs of OBJECT call. */
static void mark_called(const struct library_graph *graph, const struct object *object, bool *reached)
{
    GElf_Sym symbol;
    for (size_t s = 1; s < graph->symbol_count; s++) {
        if (!gelf_getsym(graph->symbols, (int)s, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
            continue;
        for (size_t i = 0; i < object->program_count; i++)
            for (size_t k = 0; k < object->programs[i].reference_count; k++)
                if (object->programs[i].references[k].kind == REFERENCE_LIBRARY &&
                    !strcmp(object->programs[i].references[k].symbol, library_graph_name(graph, &symbol)))
                    reached[s] = true;
    }
}

/* Follows the references of reached functions until there is nothing new. */
static void mark_reached(const struct library_graph *graph, bool *reached)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < graph->relocation_count; i++) {
            uint64_t offset = 0;
            size_t to = library_graph_reference(graph, i, &offset), from = library_graph_function_at(graph, offset);
            if (to && reached[from] && !reached[to]) {
                reached[to] = true;
                changed = true;
            }
        }
    }
}

void library_maps_leave_out(const struct object *object, const void *library, size_t size,
                            void (*unused)(void *context, const char *name), void *context)
{
    struct library_graph graph;
    bool *reached = NULL;
    if (!library_graph_open(&graph, library, size) && (reached = calloc(graph.symbol_count, sizeof *reached))) {
        mark_called(&graph, object, reached);
        mark_reached(&graph, reached);
        GElf_Sym symbol;
        for (size_t i = 1; i < graph.symbol_count; i++)
            if (gelf_getsym(graph.symbols, (int)i, &symbol) && symbol.st_shndx == graph.maps_index &&
                GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && !reached[i])
                unused(context, library_graph_name(&graph, &symbol));
    }
    free(reached);
    library_graph_close(&graph);
}
