/*
 * USDT probes of an ELF file: what sys/sdt.h leaves in .note.stapsdt (systemtap's wiki, UserSpaceProbeImplementation).
 * The file is the traced program's: what is damaged in it is passed over.
 */
#pragma once

#include "elf/elf_file.h"

struct usdt_note {
    const char *provider, *name; /* printable, without spaces and colons */
    const char *arguments;       /* "-4@%eax 8@$5"; any bytes */
    /* ELF virtual address of the probe's instruction, also where the file was prelinked since */
    uint64_t address;
    uint64_t semaphore; /* ELF virtual address of the 16-bit counter of those who trace; 0: there is none */
};

/*
 * Calls VISIT for each USDT probe of ELF, in the file's order, until it returns non-zero, which is then returned; 0
 * where all were visited, or where there are none; -ENOMEM. The strings are gone after the visit.
 */
typedef int usdt_note_visit(const struct usdt_note *note, void *context);
int usdt_notes_visit(const struct elf_file *elf, usdt_note_visit *visit, void *context);
