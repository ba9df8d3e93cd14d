/*
 * An ELF file's headers, read with bounds. Not libelf: the files belong to the traced program, which may be hostile.
 * libelf either maps them (a file that its owner truncates then ends us with SIGBUS) or allocates as much as their
 * headers claim. Here every byte is read with pread, and every count and offset is checked against the file's size.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct elf_file {
    int fd; /* borrowed */
    struct stat stat;
    uint16_t machine;                    /* e_machine */
    uint64_t entry;                      /* e_entry: address of the first instruction; 0: it has none */
    bool fixed;                          /* e_type: it runs at the addresses that it has (ET_EXEC) */
    size_t segment_count, section_count; /* 0 where the table is missing or damaged */
    Elf64_Phdr *segments;
    Elf64_Shdr *sections;
    char *section_names; /* NUL-terminated as a whole */
    bool made_up;        /* the sections are not the file's but made of its segments (elf/dynamic_sections.h): symbols
                            do not know their numbers */
    size_t section_names_size;
};

/* Reads the headers of FD. 0, -ENOEXEC: no ELF file of this machine's word size and byte order, -ENOMEM, -errno. */
int elf_file_open(struct elf_file *elf, int fd);
/* Frees the headers; FD stays open. */
void elf_file_close(struct elf_file *elf);

/* Reads exactly SIZE bytes at OFFSET. 0, -ENODATA: the file is shorter, -errno. */
int elf_file_read(const struct elf_file *elf, uint64_t offset, void *buffer, size_t size);

/* The first segment of TYPE, or NULL. */
const Elf64_Phdr *elf_file_segment(const struct elf_file *elf, uint32_t type);

/* The segment that is loaded from the file to the ELF address ADDRESS and has all FLAGS (PF_*), or NULL. */
const Elf64_Phdr *elf_file_segment_at(const struct elf_file *elf, uint64_t address, uint32_t flags);

/*
 * Opens the regular file PATH for reading (never a device or FIFO: opening one can have effects). ROOT is a directory
 * that stands for "/", which no symbolic link and no ".." leaves, or -1 for our own root. A descriptor or -errno:
 * -EINVAL for what is no regular file.
 */
int elf_file_open_path(int root, const char *path);
