/*
 * The call frame information of an ELF file, taken apart into CIEs and FDEs. Every size and offset comes from the file
 * and is checked; what is damaged is left out and counted.
 */
#pragma once

#include "arch/arch.h"
#include "elf/debug_file.h"
#include "unwind/frame_section.h"

/* The common part of the FDEs of a compiler's run. */
struct cie {
    uint64_t position; /* in the section */
    const struct arch_unwind *arch;
    uint8_t section; /* index */
    uint8_t pointer_encoding;
    bool has_data; /* its FDEs begin with augmentation data … */
    /* … of which this is a pointer: to what is to be done when an exception passes; POINTER_OMITTED: none */
    uint8_t handlers_encoding;
    bool signal; /* frames in which the kernel called a signal handler */
    uint64_t code_align, return_register;
    int64_t data_align;
    const uint8_t *code; /* the initial instructions */
    size_t code_size;
};

/* An FDE: the description of the code at [start, end). */
struct fde {
    uint64_t start, end; /* ELF addresses */
    uint64_t handlers;   /* the same: its part of .gcc_except_table; 0: none */
    uint32_t cie;        /* index */
    uint32_t code_size;
    const uint8_t *code; /* the instructions */
};

enum { CALL_FRAMES_SECTIONS = 3 };

struct call_frames {
    const struct arch_unwind *arch; /* of the file's CPU */
    struct frame_section sections[CALL_FRAMES_SECTIONS];
    size_t section_count;
    struct cie *cies; /* in the order of the sections */
    struct fde *fdes; /* by ascending start; of equal ones the first in the sections comes first */
    size_t cie_count, fde_count, cie_capacity, fde_capacity;
    size_t damaged; /* records left out */
    bool searched;  /* for a debug file */
};

/*
 * Reads .eh_frame and .debug_frame of ELF and, where these describe less than half of its code, .debug_frame of its
 * separate debug file, which SEARCH finds (NULL: not looked for). 0; -ENODATA: there is nothing, with the reason in
 * ERR; -ENOMEM; -EFBIG; -errno. On success the caller frees.
 */
int call_frames_read(struct call_frames *frames, const struct elf_file *elf, const struct debug_file_search *search,
                     struct error *err);
void call_frames_free(struct call_frames *frames);

/*
 * True if there is a function that catches exceptions, of C++ or of Rust, in ELF, of which FRAMES are. Functions of C
 * that clean up behind themselves when a thread is cancelled, as glibc has some, catch nothing.
 */
bool call_frames_catch(const struct call_frames *frames, const struct elf_file *elf);
