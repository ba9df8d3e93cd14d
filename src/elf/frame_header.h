/*
 * Where the functions lie that call frame information describes, by the table in PT_GNU_EH_FRAME: sorted, and a
 * fraction of what .eh_frame has.
 */
#pragma once

#include "elf/elf_file.h"

struct frame_header {
    const struct elf_file *elf; /* borrowed */
    uint64_t address;           /* of the header: starts are counted from it */
    struct frame_header_row {
        int32_t start, fde; /* the function, and what describes it */
    } * rows;
    size_t count;
};

/* Reads the table of ELF, which outlives it. 0; -ENODATA: it has none that is known; -ENOMEM; -errno. The caller frees.
 */
int frame_header_read(struct frame_header *header, const struct elf_file *elf);
void frame_header_free(struct frame_header *header);

/*
 * How far the code at the ELF address ADDRESS may reach: to the end of the function that has it, where one is
 * described, or else to the start of the next one; UINT64_MAX: there is none.
 */
uint64_t frame_header_end(const struct frame_header *header, uint64_t address);

/* Where the function that has the code at the ELF address ADDRESS begins, and in *END where it ends; UINT64_MAX: none
 * is described. */
uint64_t frame_header_start(const struct frame_header *header, uint64_t address, uint64_t *end);
