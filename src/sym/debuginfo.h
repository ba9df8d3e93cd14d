/*
 * DWARF of one ELF file: from addresses to source lines and inlined functions, by libdw. It gets copies of the sections
 * that it needs, so that a file which its owner changes meanwhile harms nobody, and opens no other file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/bytes.h"
#include "elf/elf_file.h"

struct debuginfo;

/* Where an address is in the source. Texts are the debuginfo's, printable; NULL and 0 where it has none. */
struct source_line {
    const char *function; /* demangled */
    const char *file;     /* with its folder, as the compiler saw it */
    unsigned line;
    uint64_t entry; /* where the function stands in .debug_info; 0: not known */
    bool inlined;   /* the function was inlined into that of the next place */
};

/* True if ELF has debug information of its own. */
bool debuginfo_is_in(const struct elf_file *elf);

/*
 * Reads the debug information of ELF, and of COMMON, which it shares with other files, or NULL, WITH_LOCATIONS
 * (sym/location.h) or without. Neither file is needed any more then. 0, -ENODATA: it has none, -EFBIG, -ENOMEM.
 */
int debuginfo_open(struct debuginfo **result, const struct elf_file *elf, const struct elf_file *common,
                   bool with_locations);
void debuginfo_free(struct debuginfo *debuginfo);

/* How many of its units, among those that were asked for so far, have a line table that is not read: damaged, or too
 * large (dwarfcost.h). */
size_t debuginfo_unread(const struct debuginfo *debuginfo);

/*
 * The places of ELF address ADDRESS, at most ROOM: the innermost inlined function first, each followed by the one into
 * which it was inlined, last the function proper. How many there are; 0: nothing is known.
 */
size_t debuginfo_lookup(struct debuginfo *debuginfo, uint64_t address, struct source_line *places, size_t room);

/*
 * Calls VISIT with each ELF address from which on code is of LINE of FILE, those of a unit in ascending order;
 * STATEMENT: a statement of the line begins there.
 * FILE: the last components of the name that the compiler saw. *NEAREST: where there is none, the line next to it that
 * has code, or 0.
 */
void debuginfo_find_line(struct debuginfo *debuginfo, const char *file, unsigned line,
                         void (*visit)(uint64_t address, bool statement, void *context), void *context,
                         unsigned *nearest);
/* True if NAME, of a file as the compiler saw it, is FILE or ends in its components. */
bool debuginfo_is_file(const char *name, const char *file);

/*
 * Where in .debug_info the function stands that has code at ELF address ADDRESS: into *ENTRY. INLINED: the innermost,
 * else the one that is itself not inlined. False: there is none.
 */
bool debuginfo_function(struct debuginfo *debuginfo, uint64_t address, bool inlined, uint64_t *entry);
/* The file in which the source declares the function that stands at ENTRY, or what it is an instance of; NULL: not
 * known. DEBUGINFO's. */
const char *debuginfo_declared_in(struct debuginfo *debuginfo, uint64_t entry);
/* The file that has the entries of the unit with code at ADDRESS, as the compiler has called it: split DWARF
 * (-gsplit-dwarf), which is not read. NULL: they are here, or nowhere. DEBUGINFO's. */
const char *debuginfo_split_file(struct debuginfo *debuginfo, uint64_t address);
/* The rows of the line table of the unit that has code at ADDRESS, and how many; NULL: it has none. DEBUGINFO's. */
struct Dwarf_Lines_s *debuginfo_lines(struct debuginfo *debuginfo, uint64_t address, size_t *count);
/* libdw's handle (Dwarf *), which DEBUGINFO owns. */
struct Dwarf *debuginfo_dwarf(struct debuginfo *debuginfo);
/* The sections of entries, of lists of locations of DWARF 5 and of those before, and of the addresses by number;
 * DEBUGINFO's. Empty where the file has none. */
enum debuginfo_section { DEBUGINFO_ENTRIES, DEBUGINFO_LISTS, DEBUGINFO_OLD_LISTS, DEBUGINFO_ADDRESSES };
struct bytes debuginfo_section(const struct debuginfo *debuginfo, enum debuginfo_section section);
