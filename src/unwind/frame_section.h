/* Where a file has its call frame information: in .eh_frame, which programs load themselves, or in .debug_frame. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "elf/elf_file.h"

struct frame_section {
    uint8_t *bytes;
    size_t size;
    uint64_t address; /* ELF address of bytes[0] */
    bool debug;       /* the format is that of .debug_frame (DWARF 5, 6.4.1) */
};

/*
 * Reads .eh_frame of ELF, which is found through PT_GNU_EH_FRAME where there are no sections. 0; -ENODATA: there is
 * none, -EFBIG, -ENOMEM, -errno, with the reason in ERR. On success the caller frees section->bytes.
 */
int frame_section_read(struct frame_section *section, const struct elf_file *elf, struct error *err);

/* The same for .debug_frame, which may be compressed. */
int frame_section_read_debug(struct frame_section *section, const struct elf_file *elf, struct error *err);
