/*
 * The unwind table of a file: which rule holds at which offset. Built once, then only read; see bpf/unwind.h for its
 * words.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "elf/debug_file.h"
#include "elf/elf_file.h"
#include "unwind/rules.h"

/* What is believable. */
enum {
    UNWIND_MAX_ROWS = 1 << 23,   /* a browser has two million */
    UNWIND_MAX_BLOCKS = 1 << 21, /* 2 GiB of code */
};

struct unwind_table {
    uint64_t start; /* offset in the file of the first block */
    uint32_t block_count, row_count;
    struct unwind_chunk *chunks; /* block_count + 1 numbers of rows, then row_count rows */
    /* of the file, for people */
    uint32_t function_count; /* FDEs */
    uint32_t damaged;        /* records and functions of which a part could not be read */
    uint32_t unknown;        /* rows without a rule, or whose rule cannot be expressed */
    uint32_t guessed;        /* rows that come from the code itself */
    bool searched;           /* a debug file was looked for, since it says little of its code */
};

/*
 * Builds the table of ELF, with the numbers of RULES. SEARCH: where its debug file may be, in which more is said of it;
 * NULL: that is not looked for. 0; -ENODATA: there is no call frame information, -EFBIG, -ENOMEM, -errno, with the
 * reason in ERR. The caller frees.
 */
int unwind_table_build(struct unwind_table *table, const struct elf_file *elf, const struct debug_file_search *search,
                       struct unwind_rules *rules, struct error *err);
void unwind_table_free(struct unwind_table *table);

/* Number of its chunks. */
static inline size_t unwind_table_chunks(const struct unwind_table *table)
{
    return UNWIND_INDEX_CHUNKS((size_t)table->block_count) + (table->row_count - 1) / UNWIND_CHUNK_ROWS + 1;
}

/* The number of rows before BLOCK; of all for block_count. */
static inline uint32_t unwind_table_before(const struct unwind_table *table, uint32_t block)
{
    return table->chunks[block / UNWIND_CHUNK_WORDS].words[block % UNWIND_CHUNK_WORDS];
}

/* Where row NUMBER is. */
static inline uint8_t *unwind_table_place(const struct unwind_table *table, uint32_t number)
{
    struct unwind_chunk *rows = table->chunks + UNWIND_INDEX_CHUNKS(table->block_count);
    return &rows[number / UNWIND_CHUNK_ROWS].rows[number % UNWIND_CHUNK_ROWS * UNWIND_ROW_SIZE];
}

/* Row NUMBER as it is kept: UNWIND_ROW(offset, rule). */
static inline uint32_t unwind_table_read(const struct unwind_table *table, uint32_t number)
{
    uint32_t row = 0;
    memcpy(&row, unwind_table_place(table, number), UNWIND_ROW_SIZE);
    return row;
}

/* The number of the rule that holds at OFFSET in the file. */
uint32_t unwind_table_find(const struct unwind_table *table, uint64_t offset);

/* Row NUMBER: its rule's number, and in *OFFSET where it begins. */
uint32_t unwind_table_row(const struct unwind_table *table, uint32_t number, uint64_t *offset);

/*
 * The offset in the file of the code at the ELF address ADDRESS, and in *END that of its segment's end; -1: there is
 * none.
 */
int64_t unwind_code_offset(const struct elf_file *elf, uint64_t address, uint64_t *end);
