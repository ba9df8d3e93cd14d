/*
 * The numbers of files (struct unwind_known of bpf/unwind.h), which stacks have in place of addresses. The kernel's
 * half gives a number to a file that it sees first, this half to all others.
 */
#pragma once

#include <stdint.h>

struct unwind_kernel;

/* A file as the kernel's half finds it. */
struct kernel_file {
    uint64_t device, inode; /* as mappings have them; inode 0: the vDSO, which the kernel's half does not find so */
    uint64_t changed[2];    /* the time of its last change: seconds and nanoseconds … */
    uint64_t written[2];    /* … and of that of its contents */
};

enum { FILE_NUMBERS_TOLD = 256 }; /* by their inode numbers */

struct file_numbers {
    int map; /* uplua_unwind_files, borrowed */
    struct unwind_kernel *kernel;
    /* What the kernel's half was told last of a file: each process that maps it would tell the same. */
    struct {
        struct kernel_file file; /* inode 0: of none */
        uint32_t number;
    } told[FILE_NUMBERS_TOLD];
};

/* DEVICE, as mappings have it, as the kernel keeps it. */
uint32_t kernel_device(uint64_t device);

/* The number of FILE as it is now, a new one where it has none; 0: none is left. */
uint32_t file_numbers_get(struct file_numbers *numbers, const struct kernel_file *file);

/*
 * FILE has NUMBER from now on. Returns another number that the kernel's half has given it meanwhile: that is the same
 * file, too; mostly 0.
 */
uint32_t file_numbers_set(struct file_numbers *numbers, const struct kernel_file *file, uint32_t number);

/* The number of the file with DEVICE and INODE, whenever that was changed last; 0: it has none. */
uint32_t file_numbers_find(const struct file_numbers *numbers, uint64_t device, uint64_t inode);
