/* The sections of ELF files: found by type or name, and their contents. */
#pragma once

#include "elf/elf_file.h"

/* What no section is believed to exceed that is read as a whole; a browser's .symtab has 200 MB. */
#define SECTION_MAX (UINT64_C(1) << 30)

/* The first section of TYPE (SHT_NULL: any) named NAME (NULL: any), or NULL. */
const Elf64_Shdr *section_find(const struct elf_file *elf, uint32_t type, const char *name);

/* The name of SECTION; "" where it has none. */
const char *section_name(const struct elf_file *elf, const Elf64_Shdr *section);

/*
 * The contents of SECTION as they are in the file, with a NUL behind them, and how many bytes they are. The caller
 * frees them. NULL with errno ENODATA where SECTION is NULL, where it has no contents or more than MAX bytes, where the
 * file does not have them; with ENOMEM where there is no memory for them.
 */
void *section_read(const struct elf_file *elf, const Elf64_Shdr *section, uint64_t max, size_t *size);

/*
 * How SECTION, whose contents are the SIZE bytes at BYTES, is compressed: the length of the header, and in *WHOLE the
 * size of what follows, uncompressed; 0: not at all; -ENODATA: damaged; -ENOTSUP: by something else than zlib.
 */
int section_header(const struct elf_file *elf, const Elf64_Shdr *section, const uint8_t *bytes, size_t size,
                   uint64_t *whole);

/*
 * The contents of SECTION, which may be of ELF or made up by the caller, uncompressed: as they are, compressed
 * (SHF_COMPRESSED), or compressed as .zdebug_*. *BYTES, *SIZE long and no more than MAX, which the caller frees. 0,
 * -ENODATA: damaged, or the file has none, -EFBIG, -ENOTSUP: compressed by something else than zlib, -ENOMEM, -errno.
 */
int section_uncompress(const struct elf_file *elf, const Elf64_Shdr *section, uint64_t max, uint8_t **bytes,
                       size_t *size);
