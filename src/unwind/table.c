/* Builds the unwind table of an ELF file. */
#include "unwind/table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "unwind/call_frames.h"
#include "unwind/cfa.h"
#include "unwind/stack_analysis.h"

enum {
    BLOCK = 1 << UNWIND_BLOCK_SHIFT,
    PADDING = 16,     /* bytes at most between functions that are only aligned: no code */
    ENTRY_SIZE = 128, /* bytes at most of a file's first instructions; ld.so's are 61 */
};

#define MAX_OFFSET (INT64_C(1) << 47) /* in a file that anybody maps; a row in the making has 48 bits for it */

/* Rows in the making: offset << 16 | rule's number. */
struct builder {
    uint64_t *rows;
    size_t count, capacity;
    struct unwind_rules *rules;
    uint64_t bias;      /* file offset − ELF address, of the function at work */
    uint64_t end;       /* file offset where it ends */
    uint64_t entry;     /* file offset of the file's first instruction; UINT64_MAX: it has none */
    uint64_t last_rule; /* rows often repeat it */
    uint32_t last_number;
    struct analysed_row *analysed; /* of code that is not described: by offset, the next one first */
    size_t analysed_count;
    int rc;
};

int64_t unwind_code_offset(const struct elf_file *elf, uint64_t address, uint64_t *end)
{
    const Elf64_Phdr *segment = elf_file_segment_at(elf, address, PF_X);
    if (!segment || segment->p_filesz > MAX_OFFSET || segment->p_offset > MAX_OFFSET - segment->p_filesz)
        return -1;
    *end = segment->p_offset + segment->p_filesz;
    return (int64_t)(segment->p_offset + (address - segment->p_vaddr));
}

/* Appends a row, unless the rule holds already; one at the same offset is replaced. */
static void add(struct builder *builder, uint64_t offset, uint32_t number)
{
    while (builder->count && builder->rows[builder->count - 1] >> 16 >= offset)
        builder->count--;
    if (builder->count && (builder->rows[builder->count - 1] & 0xffff) == number)
        return;
    if (builder->count >= UNWIND_MAX_ROWS) {
        builder->rc = -EFBIG;
        return;
    }
    if (!array_room(&builder->rows, builder->count, &builder->capacity, sizeof *builder->rows)) {
        builder->rc = -ENOMEM;
        return;
    }
    builder->rows[builder->count++] = offset << 16 | number;
}

static void on_row(void *context, uint64_t address, uint64_t rule)
{
    struct builder *builder = context;
    uint64_t offset = address + builder->bias;
    if (builder->rc || offset >= builder->end)
        return;
    if (rule != builder->last_rule) {
        builder->last_rule = rule;
        builder->last_number = unwind_rules_number(builder->rules, rule);
    }
    add(builder, offset, builder->last_number);
}

/* A function, in the order of their offsets. */
struct described_function {
    uint64_t start, end; /* offsets in the file */
    const struct fde *fde;
};

static int compare(const void *a, const void *b)
{
    const struct described_function *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->fde > y->fde) - (x->fde < y->fde);
}

/*
 * The functions that lie in code: their number. FDEs are sorted by address, which is most often the order of offsets
 * too.
 */
static size_t list_functions(const struct call_frames *frames, const struct elf_file *elf,
                             struct described_function *functions)
{
    size_t count = 0;
    bool sorted = true;
    for (size_t i = 0; i < frames->fde_count; i++) {
        const struct fde *fde = &frames->fdes[i];
        uint64_t end;
        int64_t offset = unwind_code_offset(elf, fde->start, &end);
        if (offset < 0)
            continue;
        struct described_function *function = &functions[count];
        *function = (struct described_function){
            .start = (uint64_t)offset, .end = (uint64_t)offset + (fde->end - fde->start), .fde = fde};
        if (function->end > end || function->end < function->start)
            function->end = end;
        sorted = sorted && (!count || functions[count - 1].start <= function->start);
        count++;
    }
    if (!sorted)
        qsort(functions, count, sizeof *functions, compare);
    return count;
}

/*
 * The rows of the code at [FROM, TO), of which no call frame information tells: those that its analysis has found.
 * Without one, where a file begins nobody has called: ld.so's first instructions, below each constructor, are such a
 * place, as are those of programs in assembly.
 */
static void add_gap(struct builder *builder, uint64_t from, uint64_t to)
{
    uint64_t entry = builder->entry;
    if (to - from >= PADDING)
        add(builder, from, RULE_UNKNOWN);
    for (; builder->analysed_count && builder->analysed->address < to; builder->analysed++, builder->analysed_count--)
        if (builder->analysed->address >= from)
            add(builder, builder->analysed->address, unwind_rules_number(builder->rules, builder->analysed->rule));
    if (entry < from || entry >= to)
        return;
    add(builder, entry, unwind_rules_number(builder->rules, RULE_END));
    if (to - entry > ENTRY_SIZE)
        add(builder, entry + ENTRY_SIZE, RULE_UNKNOWN);
}

/*
 * All rows. Functions that overlap are decided by where they start: from a later start on the later function holds,
 * and of equal starts the first of the section. After a function comes a row of no rule, unless there is only padding.
 */
static void add_functions(struct builder *builder, const struct call_frames *frames,
                          const struct described_function *functions, size_t count, const struct cfa_state *states,
                          const bool *good, struct unwind_table *table)
{
    uint64_t first = builder->entry, begin = count ? functions->start : UINT64_MAX;
    if (builder->analysed_count && builder->analysed->address < first)
        first = builder->analysed->address;
    if (first < begin)
        add_gap(builder, first, begin);
    for (size_t i = 0, after; i < count && !builder->rc; i = after) {
        const struct described_function *function = &functions[i];
        for (after = i + 1; after < count && functions[after].start == function->start;)
            after++;
        uint64_t next = after < count ? functions[after].start : UINT64_MAX;
        uint32_t cie = function->fde->cie;
        builder->bias = function->start - function->fde->start;
        builder->end = function->end < next ? function->end : next;
        if (!good[cie])
            add(builder, function->start, unwind_rules_number(builder->rules, RULE_UNEXPRESSED));
        if (!good[cie] || !cfa_run(&frames->cies[cie], function->fde, &states[cie], on_row, builder))
            table->damaged++;
        add_gap(builder, builder->end, next);
        table->function_count++;
    }
}

/* --- code that is not described --- */

/* Adds the code at the ELF addresses [START, END), unless it may be padding. False without memory. */
static bool add_range(struct code_ranges *ranges, uint64_t start, uint64_t end)
{
    if (end <= start || end - start < PADDING)
        return true;
    if (!array_room(&ranges->items, ranges->count, &ranges->capacity, sizeof *ranges->items))
        return false;
    ranges->items[ranges->count++] = (struct code_range){start, end};
    return true;
}

/* Adds the code at [START, END) to DESCRIBED, or to RANGES what of it the COUNT FUNCTIONS do not describe. */
static bool add_code(struct code_ranges *ranges, struct code_ranges *described, const struct elf_file *elf,
                     const struct described_function *functions, size_t count, uint64_t start, uint64_t end)
{
    uint64_t segment_end;
    int64_t offset = unwind_code_offset(elf, start, &segment_end);
    if (offset < 0 || end - start > segment_end - (uint64_t)offset)
        return true;
    uint64_t bias = start - (uint64_t)offset, at = (uint64_t)offset, to = at + (end - start);
    size_t i = array_up_to(functions, count, sizeof *functions, at);
    for (i -= i > 0; i < count && functions[i].start < to; i++) {
        uint64_t from = functions[i].start > at ? functions[i].start : at;
        uint64_t behind = functions[i].end < to ? functions[i].end : to;
        if (!add_range(ranges, at + bias, from + bias) || !add_range(described, from + bias, behind + bias))
            return false;
        if (behind > at)
            at = behind;
    }
    return at >= to || add_range(ranges, at + bias, to + bias);
}

static int compare_ranges(const void *a, const void *b)
{
    const struct code_range *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void put_in_order(struct code_ranges *ranges)
{
    if (ranges->count)
        qsort(ranges->items, ranges->count, sizeof *ranges->items, compare_ranges);
    size_t kept = 0; /* damaged files have sections that overlap */
    for (size_t i = 0; i < ranges->count; i++)
        if (!kept || ranges->items[i].start >= ranges->items[kept - 1].end)
            ranges->items[kept++] = ranges->items[i];
    ranges->count = kept;
}

/* Finds the code of ELF that the COUNT FUNCTIONS do not describe: in its sections, since a segment may hold everything
 * else too; in its segments where there are no sections. False without memory. */
static bool find_code(struct code_ranges *ranges, struct code_ranges *described, const struct elf_file *elf,
                      const struct described_function *functions, size_t count)
{
    bool good = true;
    for (size_t i = 0; i < elf->section_count && good; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (section->sh_flags & SHF_EXECINSTR && section->sh_type == SHT_PROGBITS)
            good = add_code(ranges, described, elf, functions, count, section->sh_addr,
                            section->sh_addr + section->sh_size);
    }
    for (size_t i = 0; i < elf->segment_count && !elf->section_count && good; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
            good = add_code(ranges, described, elf, functions, count, segment->p_vaddr,
                            segment->p_vaddr + segment->p_filesz);
    }
    put_in_order(ranges);
    put_in_order(described);
    return good;
}

static int compare_rows(const void *a, const void *b)
{
    const struct analysed_row *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* The rows of the code of ELF that the COUNT FUNCTIONS do not describe, by offset in the file, in *ROWS: their number,
 * or -ENOMEM. */
static int64_t analyse(const struct elf_file *elf, const struct described_function *functions, size_t count,
                       struct analysed_row **rows)
{
    struct code_ranges ranges = {0}, described = {0};
    bool good = find_code(&ranges, &described, elf, functions, count);
    int64_t found = good ? stack_analysis(elf, &ranges, &described, rows) : -ENOMEM;
    free(ranges.items);
    free(described.items);
    int64_t kept = 0;
    for (int64_t i = 0; i < found; i++) {
        uint64_t address = (*rows)[i].address, end;
        int64_t offset = unwind_code_offset(elf, address, &end);
        if (offset < 0) /* behind the last code */
            offset = unwind_code_offset(elf, address - 1, &end) + 1;
        if (offset > 0)
            (*rows)[kept++] = (struct analysed_row){.address = (uint64_t)offset, .rule = (*rows)[i].rule};
    }
    if (kept)
        qsort(*rows, (size_t)kept, sizeof **rows, compare_rows);
    return found < 0 ? found : kept;
}

/* --- the table --- */

static void write_row(struct unwind_table *table, uint32_t number, uint64_t offset, uint32_t rule)
{
    uint32_t row = UNWIND_ROW(offset, rule);
    memcpy(unwind_table_place(table, number), &row, UNWIND_ROW_SIZE);
}

static void write_before(struct unwind_table *table, uint64_t block, uint32_t count)
{
    table->chunks[block / UNWIND_CHUNK_WORDS].words[block % UNWIND_CHUNK_WORDS] = count;
}

/* The chunks of TABLE from the rows. */
static int pack(struct unwind_table *table, const struct builder *builder)
{
    if (!builder->count)
        return -ENODATA;
    uint64_t first = builder->rows[0] >> 16, last = builder->rows[builder->count - 1] >> 16;
    table->start = first / BLOCK * BLOCK;
    uint64_t blocks = (last - table->start) / BLOCK + 1;
    if (blocks > UNWIND_MAX_BLOCKS)
        return -EFBIG;
    bool lead = first != table->start;
    table->block_count = (uint32_t)blocks;
    table->row_count = (uint32_t)(builder->count + lead);
    table->chunks = calloc(unwind_table_chunks(table), sizeof *table->chunks);
    if (!table->chunks)
        return -ENOMEM;
    uint32_t count = 0;
    if (lead)
        write_row(table, count++, table->start, RULE_UNKNOWN);
    uint64_t block = 0;
    for (size_t i = 0; i < builder->count; i++) {
        uint64_t offset = builder->rows[i] >> 16;
        uint32_t rule = builder->rows[i] & 0xffff;
        while (block < (offset - table->start) / BLOCK)
            write_before(table, ++block, count);
        write_row(table, count++, offset, rule);
        table->guessed += (builder->rules->items[rule] & RULE_GUESSED) != 0;
        table->unknown += RULE_KIND(builder->rules->items[rule]) == RULE_UNKNOWN;
    }
    write_before(table, blocks, count);
    return 0;
}

int unwind_table_build(struct unwind_table *table, const struct elf_file *elf, const struct debug_file_search *search,
                       struct unwind_rules *rules, struct error *err)
{
    *table = (struct unwind_table){0};
    struct call_frames frames;
    int rc = call_frames_read(&frames, elf, search, err);
    if (rc && (rc != -ENODATA || !arch_unwind(elf->machine)))
        return rc;
    uint64_t end;
    int64_t entry = elf->entry ? unwind_code_offset(elf, elf->entry, &end) : -1;
    struct builder builder = {.rules = rules, .entry = entry < 0 ? UINT64_MAX : (uint64_t)entry};
    struct cfa_state *states = calloc(frames.cie_count + 1, sizeof *states);
    bool *good = calloc(frames.cie_count + 1, sizeof *good);
    struct described_function *functions = calloc(frames.fde_count + 1, sizeof *functions);
    if (!states || !good || !functions) {
        rc = -ENOMEM;
        goto out;
    }
    table->damaged = (uint32_t)frames.damaged;
    table->searched = frames.searched;
    for (size_t i = 0; i < frames.cie_count; i++)
        good[i] = cfa_start(&frames.cies[i], &states[i]);
    size_t count = list_functions(&frames, elf, functions);
    struct analysed_row *rows = NULL;
    int64_t found = analyse(elf, functions, count, &rows);
    builder.analysed = rows;
    builder.analysed_count = found > 0 ? (size_t)found : 0;
    if (found > 0)
        builder.entry = UINT64_MAX; /* it is among these */
    if (found < 0)
        builder.rc = (int)found;
    add_functions(&builder, &frames, functions, count, states, good, table);
    rc = builder.rc ? builder.rc : pack(table, &builder);
    free(rows);
out:
    if (rc == -ENODATA)
        error_set(err, rc,
                  "its call frame information, if there is any, says nothing about its code, nor does the code itself");
    else if (rc)
        error_set(err, rc, rc == -EFBIG ? "its unwind table would be larger than is believable" : "out of memory");
    free(builder.rows);
    free(functions);
    free(good);
    free(states);
    call_frames_free(&frames);
    if (rc)
        unwind_table_free(table);
    return rc;
}

void unwind_table_free(struct unwind_table *table)
{
    free(table->chunks);
    *table = (struct unwind_table){0};
}

uint32_t unwind_table_find(const struct unwind_table *table, uint64_t offset)
{
    uint64_t block = (offset - table->start) >> UNWIND_BLOCK_SHIFT;
    if (offset < table->start || block >= table->block_count)
        return RULE_UNKNOWN;
    uint32_t low = unwind_table_before(table, (uint32_t)block), high = unwind_table_before(table, (uint32_t)block + 1);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (UNWIND_ROW_OFFSET(unwind_table_read(table, middle)) <= offset % BLOCK)
            low = middle + 1;
        else
            high = middle;
    }
    return UNWIND_ROW_RULE(unwind_table_read(table, low - 1));
}

uint32_t unwind_table_row(const struct unwind_table *table, uint32_t number, uint64_t *offset)
{
    uint32_t low = 0, high = table->block_count; /* the block of the row: the last one that begins at or before it */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (unwind_table_before(table, middle) <= number)
            low = middle;
        else
            high = middle;
    }
    uint32_t row = unwind_table_read(table, number);
    *offset = table->start + ((uint64_t)low << UNWIND_BLOCK_SHIFT) + UNWIND_ROW_OFFSET(row);
    return UNWIND_ROW_RULE(row);
}
