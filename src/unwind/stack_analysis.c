/* Where functions begin, and from where on which rule holds: what lies around the flow through the code (code_flow.h).
 */
#include "unwind/stack_analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/section.h"
#include "elf/symbol_table.h"
#include "unwind/rules.h"

enum {
    MAX_SYMBOLS = 1 << 20,
    MAX_NAMES = 1 << 26, /* bytes */
    WORTHWHILE = 8,      /* others are looked through unless these are so many times as many */
    PADDING = 16,        /* bytes at most between functions that are only aligned */
};

static int compare_extents(const void *a, const void *b)
{
    const struct code_extent *x = a, *y = b;
    return x->start != y->start ? (x->start < y->start ? -1 : 1) : (x->end > y->end) - (x->end < y->end);
}

/* Parts of functions that compilers have put elsewhere are no functions: others jump there. */
static bool is_part(const char *name)
{
    const char *cold = name ? strstr(name, ".cold") : NULL;
    return cold && (cold[5] == '\0' || cold[5] == '.');
}

/* True if SYMBOL is a function's; in assembly that is often left out, and what is not global there may be any label. */
static bool is_function(const Elf64_Sym *symbol)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    return type == STT_FUNC || type == STT_GNU_IFUNC ||
           (type == STT_NOTYPE && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL);
}

static void add_symbols(struct code_flow *flow, uint32_t type)
{
    struct symbol_table table;
    const Elf64_Shdr *section = section_find(flow->elf, type, NULL);
    int rc = symbol_table_open(&table, flow->elf, section, MAX_NAMES);
    for (size_t i = 0; rc == 0 && i < table.count && i < MAX_SYMBOLS; i++) {
        const Elf64_Sym *symbol = symbol_table_at(&table, i);
        if (!symbol || !is_function(symbol) || !symbol->st_shndx || !code_flow_region(flow, symbol->st_value) ||
            is_part(symbol_table_name(&table, symbol)))
            continue;
        if (!array_room(&flow->extents, flow->extent_count, &flow->extent_capacity, sizeof *flow->extents)) {
            rc = -ENOMEM;
            break;
        }
        flow->extents[flow->extent_count++] =
            (struct code_extent){symbol->st_value, symbol->st_value + symbol->st_size};
    }
    flow->failed |= rc == -ENOMEM;
    symbol_table_close(&table);
}

/* Begins at what the code in RANGE, which is not analysed, calls, and notes what it computes the address of. */
static void look_through(struct code_flow *flow, struct code_range range)
{
    const Elf64_Phdr *segment = elf_file_segment_at(flow->elf, range.start, PF_X);
    uint64_t size = range.end - range.start;
    uint8_t *bytes = segment ? malloc(size) : NULL;
    flow->failed |= segment && !bytes;
    bool good = bytes && !elf_file_read(flow->elf, segment->p_offset + (range.start - segment->p_vaddr), bytes, size);
    struct arch_stack_effect effect;
    for (uint64_t at = 0; good && at < size; at += effect.length) {
        if (!flow->code->stack_effect(bytes + at, size - at, &effect)) {
            effect.length = flow->code->step;
            continue;
        }
        if (effect.direct)
            code_flow_begin(flow, range.start + at + (uint64_t)effect.target);
        code_flow_refer(flow, range.start + at, &effect);
    }
    free(bytes);
}

/* The same of all in DESCRIBED, unless that is too much, or symbols tell. */
static void look_through_all(struct code_flow *flow, const struct code_ranges *described, uint64_t undescribed)
{
    uint64_t size = 0;
    for (size_t i = 0; i < described->count; i++)
        size += described->items[i].end - described->items[i].start;
    if (size > ANALYSIS_MAX_CODE || size / WORTHWHILE > undescribed || section_find(flow->elf, SHT_SYMTAB, NULL))
        return;
    for (size_t i = 0; i < described->count && !flow->failed; i++)
        look_through(flow, described->items[i]);
}

/* Begins at all that symbols name, and where the file is entered, to which nobody returns. */
static void begin_all(struct code_flow *flow)
{
    for (size_t i = 0; i < flow->extent_count; i++)
        code_flow_begin(flow, flow->extents[i].start);
    struct code_region *region = flow->elf->entry ? code_flow_region(flow, flow->elf->entry) : NULL;
    code_flow_begin(flow, flow->elf->entry);
    if (region)
        region->states[flow->elf->entry - region->start] = flow->outermost;
}

static struct analysed_row row_of(const struct code_flow *flow, uint64_t address, uint16_t number)
{
    const struct stack_state *state = &flow->states[number];
    uint64_t by_frame = stack_state_rule(state, flow->arch, true),
             by_stack = stack_state_rule(state, flow->arch, false);
    if (by_frame == RULE_UNKNOWN)
        return (struct analysed_row){address, by_stack, RULE_UNKNOWN};
    return (struct analysed_row){address, by_frame, by_stack};
}

struct rows {
    struct analysed_row *items;
    size_t count, capacity;
};

static void add_row(struct code_flow *flow, struct rows *rows, struct analysed_row row)
{
    const struct analysed_row none = {0}, *last = rows->count ? &rows->items[rows->count - 1] : &none;
    if (row.rule == last->rule && row.other == last->other)
        return;
    if (array_room(&rows->items, rows->count, &rows->capacity, sizeof *rows->items))
        rows->items[rows->count++] = row;
    else
        flow->failed = true;
}

static bool contradicts(const struct code_region *region, uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at < to; at++)
        if (region->marks[at] & FLOW_CONTRADICTS)
            return true;
    return false;
}

/* The rows of the code of REGION at the bytes [FROM, TO), which are one function's. */
static void add_function(struct code_flow *flow, struct rows *rows, const struct code_region *region, uint64_t from,
                         uint64_t to)
{
    bool wrong = contradicts(region, from, to);
    for (uint64_t at = from, next; at < to; at = next) {
        next = at + (region->states[at] ? code_flow_length(region, at) : 1);
        uint64_t address = region->start + at;
        while (!region->states[at] && next < to && !region->states[next])
            next++;
        if (wrong || (!region->states[at] && next - at >= PADDING))
            add_row(flow, rows, (struct analysed_row){.address = address});
        else if (region->states[at])
            add_row(flow, rows, row_of(flow, address, region->states[at]));
    }
}

static void add_rows(struct code_flow *flow, struct rows *rows)
{
    for (size_t i = 0; i < flow->region_count; i++) {
        const struct code_region *region = &flow->regions[i];
        uint64_t size = region->end - region->start;
        for (uint64_t at = 0, next; at < size; at = next) {
            for (next = at + 1; next < size && !(region->marks[next] & FLOW_STARTS);)
                next++;
            add_function(flow, rows, region, at, next);
        }
        add_row(flow, rows, (struct analysed_row){.address = region->end});
    }
}

/* Follows the code of FLOW, SIZE bytes, of which DESCRIBED is the rest. */
static void follow(struct code_flow *flow, const struct code_ranges *described, uint64_t size)
{
    add_symbols(flow, SHT_SYMTAB);
    add_symbols(flow, SHT_DYNSYM);
    if (flow->extent_count)
        qsort(flow->extents, flow->extent_count, sizeof *flow->extents, compare_extents);
    begin_all(flow);
    look_through_all(flow, described, size);
    code_flow_run(flow);
}

int64_t stack_analysis(const struct elf_file *elf, const struct code_ranges *ranges,
                       const struct code_ranges *described, struct analysed_row **result)
{
    struct rows rows = {0};
    struct code_flow flow;
    uint64_t size = 0;
    *result = NULL;
    for (size_t i = 0; i < ranges->count; i++)
        size += ranges->items[i].end - ranges->items[i].start;
    if (!size || size > ANALYSIS_MAX_CODE || !arch_unwind(elf->machine))
        return 0;
    bool good = code_flow_open(&flow, elf, ranges->items, ranges->count);
    if (good) {
        follow(&flow, described, size);
        add_rows(&flow, &rows);
    }
    good = good && !flow.failed;
    code_flow_close(&flow);
    if (!good) {
        free(rows.items);
        return -ENOMEM;
    }
    *result = rows.items;
    return (int64_t)rows.count;
}
