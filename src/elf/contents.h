/* The contents of sections, uncompressed: as they are, compressed (SHF_COMPRESSED), or compressed as .zdebug_*. */
#ifndef UPLUA_ELF_CONTENTS_H
#define UPLUA_ELF_CONTENTS_H

#include "elf/elffile.h"

/*
 * The contents of SECTION, which may be of ELF or made up by the caller, if they are no more than MAX bytes: *BYTES,
 * *SIZE long, which the caller frees. 0, -ENODATA: damaged, or the file has none, -EFBIG, -ENOTSUP: compressed by
 * something else than zlib, -ENOMEM, -errno.
 */
int contents_read(const struct elffile *elf, const Elf64_Shdr *section, uint64_t max, uint8_t **bytes, size_t *size);

#endif
