/*
 * The call frame information of an ELF file: its .eh_frame, taken apart into CIEs and FDEs. Every size and offset comes
 * from the file and is checked; what is damaged is left out and counted.
 */
#ifndef UPLUA_UNWIND_EH_FRAME_H
#define UPLUA_UNWIND_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sym/elffile.h"
#include "sys/error.h"

/* What the FDEs of a compiler's run have in common. */
struct cie {
    uint32_t position; /* in the section */
    uint8_t pointer_encoding;
    bool has_data; /* its FDEs begin with augmentation data */
    bool signal;   /* frames in which the kernel called a signal handler */
    uint64_t code_align, return_register;
    int64_t data_align;
    const uint8_t *code; /* the initial instructions */
    size_t code_size;
};

/* What is known of the code at [start, end). */
struct fde {
    uint64_t start, end; /* ELF addresses */
    uint32_t cie;        /* index */
    uint32_t code_size;
    const uint8_t *code; /* the instructions */
};

struct eh_frame {
    uint8_t *bytes;
    size_t size;
    uint64_t address; /* ELF address of bytes[0] */
    struct cie *cies; /* in the order of the section */
    struct fde *fdes; /* by ascending start; of equal ones the first of the section comes first */
    size_t cie_count, fde_count, cie_capacity, fde_capacity;
    size_t damaged; /* records left out */
};

/*
 * Finds the section .eh_frame of ELF, where there are no sections through PT_GNU_EH_FRAME, and reads it. 0; -ENODATA:
 * there is none, with the reason in ERR; -ENOMEM; -EFBIG; -errno. On success the caller frees.
 */
int eh_frame_read(struct eh_frame *frames, const struct elffile *elf, struct error *err);
void eh_frame_free(struct eh_frame *frames);

#endif
