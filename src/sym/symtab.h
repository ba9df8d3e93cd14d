/* The functions of one ELF symbol table, sorted by address. Names are read and demangled when somebody asks. */
#pragma once

#include <stdint.h>

#include "elf/elf_file.h"

struct symtab;

/*
 * Reads the first section of TYPE (SHT_SYMTAB or SHT_DYNSYM) of ELF into *RESULT, which keeps the file open for the
 * names. CODE: the file with the code, which is ELF itself unless that is a debug file, whose addresses are SHIFT above
 * those of CODE. 0, -ENOENT: no such section or no function in it, -EFBIG: absurdly many, -ENODATA: damaged, -errno.
 */
int symtab_load(struct symtab **result, const struct elf_file *elf, uint32_t type, const struct elf_file *code,
                uint64_t shift);
void symtab_free(struct symtab *symtab); /* NULL is fine */

/* The descriptor of the file that SYMTAB was read from. It stays SYMTAB's. */
int symtab_fd(const struct symtab *symtab);

/*
 * The function around the ELF address ADDRESS: of those that contain it the one that starts last. Its demangled name,
 * owned by SYMTAB, with the distance from its start in *OFFSET; NULL where there is none.
 */
const char *symtab_lookup(struct symtab *symtab, uint64_t address, uint64_t *offset);
