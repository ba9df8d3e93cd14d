/*
 * What libdw reads of an ELF file's debug information: an ELF file made in memory of the sections that it needs and
 * nothing else. So it can neither open another file that the debug information names (.gnu_debugaltlink, .dwo) nor read
 * one that shrinks under it.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"
#include "sym/dwarfcost.h"

/* All zeros before it is opened, and closed as such. */
struct dwarfcopy {
    unsigned char *bytes;
    Elf *elf;
    Dwarf *dwarf;
    uint64_t whole; /* bytes of its sections, uncompressed */
    struct dwarfcost cost;
    /* of locations: of DWARF 5, of those before, and what both count in */
    struct dwarfcost_section lists, old_lists, addresses;
};

/* True if ELF has debug information of its own. */
bool dwarfcopy_is_possible(const struct elf_file *elf);

/*
 * Has libdw open a copy of ELF's debug information, WITH_LOCATIONS or without where its variables are. 0, -ENODATA: it
 * has none, -EFBIG, -ENOMEM; closed by dwarfcopy_close in any case.
 */
int dwarfcopy_open(struct dwarfcopy *copy, const struct elf_file *elf, bool with_locations);
void dwarfcopy_close(struct dwarfcopy *copy);
