/* One file with its unwind table, to look into: `uplua --unwind-info`. */
#pragma once

#include "unwind/table.h"

struct unwind_file {
    int fd;
    struct elf_file elf;
    struct unwind_rules rules;
    struct unwind_table table;
};

/* 0 or a negative errno with the reason in ERR, in which case nothing is held. */
int unwind_file_open(struct unwind_file *file, const char *path, struct error *err);
/* Does nothing for one that is all zeros. */
void unwind_file_close(struct unwind_file *file);

/* The ELF address of the code at OFFSET; OFFSET itself where no segment has it. */
uint64_t unwind_file_address(const struct unwind_file *file, uint64_t offset);
