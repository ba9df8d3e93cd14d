/* The notes of ELF files (ELF specification, "Note Section"), and the build id, which is one of them. */
#pragma once

#include "elf/bytes.h"
#include "elf/elf_file.h"

enum { BUILD_ID_MAX = 64 };

/*
 * Takes the next note of OWNER and TYPE off NOTES, the contents of a section or segment of notes: its description.
 * False where none is left, or where what follows is damaged.
 */
bool notes_next(struct bytes *notes, const char *owner, uint32_t type, struct bytes *description);

/* The file's build id in ID; its length, 0 where there is none, or -ENOMEM. */
int notes_build_id(const struct elf_file *elf, uint8_t id[static BUILD_ID_MAX]);
