/* Finds the sections of an ELF file, and reads and uncompresses their contents. */
#include "elf/section.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    OLD_HEADER = 12,   /* of .zdebug_*: "ZLIB", and the size in 8 bytes, the highest first */
    MOST_TIMES = 1032, /* as large as its compressed form is at most what zlib makes (zlib's technical details) */
};

const Elf64_Shdr *section_find(const struct elf_file *elf, uint32_t type, const char *name)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if ((type == SHT_NULL || section->sh_type == type) && (!name || !strcmp(section_name(elf, section), name)))
            return section;
    }
    return NULL;
}

const char *section_name(const struct elf_file *elf, const Elf64_Shdr *section)
{
    return section->sh_name < elf->section_names_size ? elf->section_names + section->sh_name : "";
}

void *section_read(const struct elf_file *elf, const Elf64_Shdr *section, uint64_t max, size_t *size)
{
    /* The size is a claim of the file: it must fit there before it is allocated. */
    if (!section || section->sh_type == SHT_NOBITS || section->sh_size > max ||
        section->sh_size > (uint64_t)elf->stat.st_size) {
        errno = ENODATA;
        return NULL;
    }
    char *bytes = malloc((size_t)section->sh_size + 1);
    if (bytes && elf_file_read(elf, section->sh_offset, bytes, (size_t)section->sh_size)) {
        free(bytes);
        errno = ENODATA;
        return NULL;
    }
    if (bytes)
        bytes[section->sh_size] = '\0';
    *size = (size_t)section->sh_size;
    return bytes;
}

int section_header(const struct elf_file *elf, const Elf64_Shdr *section, const uint8_t *bytes, size_t size,
                   uint64_t *whole)
{
    Elf64_Chdr header;
    if (section->sh_flags & SHF_COMPRESSED) {
        if (size < sizeof header)
            return -ENODATA;
        memcpy(&header, bytes, sizeof header);
        *whole = header.ch_size;
        return header.ch_type == ELFCOMPRESS_ZLIB ? (int)sizeof header : -ENOTSUP;
    }
    if (strncmp(section_name(elf, section), ".zdebug_", 8) != 0)
        return 0;
    if (size < OLD_HEADER || memcmp(bytes, "ZLIB", 4))
        return -ENODATA;
    *whole = 0;
    for (int i = 4; i < OLD_HEADER; i++)
        *whole = *whole << 8 | bytes[i];
    return OLD_HEADER;
}

/* The WHOLE bytes that the SIZE bytes at INPUT become. */
static int uncompress_all(const uint8_t *input, size_t size, uint64_t whole, uint8_t **bytes)
{
    if (!whole || whole / MOST_TIMES > size)
        return -ENODATA;
    uint8_t *output = malloc(whole);
    if (!output)
        return -ENOMEM;
    uLongf got = whole;
    if (uncompress(output, &got, input, size) != Z_OK || got != whole) {
        free(output);
        return -ENODATA;
    }
    *bytes = output;
    return 0;
}

int section_uncompress(const struct elf_file *elf, const Elf64_Shdr *section, uint64_t max, uint8_t **bytes,
                       size_t *size)
{
    uint64_t length = section->sh_size, whole = 0, file_size = (uint64_t)elf->stat.st_size;
    if (section->sh_type == SHT_NOBITS || !length || section->sh_offset >= file_size)
        return -ENODATA;
    if (length > file_size - section->sh_offset)
        length = file_size - section->sh_offset;
    if (length > max)
        return -EFBIG;
    uint8_t *input = malloc(length);
    if (!input)
        return -ENOMEM;
    int rc = elf_file_read(elf, section->sh_offset, input, length);
    int header = rc ? rc : section_header(elf, section, input, length, &whole);
    if (!header) {
        *bytes = input;
        *size = length;
        return 0;
    }
    if (header > 0)
        rc = whole > max ? -EFBIG : uncompress_all(input + header, length - (size_t)header, whole, bytes);
    else
        rc = header;
    free(input);
    if (!rc)
        *size = whole;
    return rc;
}
