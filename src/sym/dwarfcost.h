/*
 * What libdw would allocate to read parts of a file's debug information. It trusts the files. In one megabyte a hundred
 * thousand source files may share a folder's name of half a megabyte, which it would put before each of their names. As
 * many units may each have an abbreviation table of that size. So this is reckoned first, by the same bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sections, uncompressed; without bytes where the file has none. */
struct dwarfcost {
    struct dwarfcost_section {
        const uint8_t *bytes;
        size_t size;
    } info, types, abbrev, line, line_str, str;
};

/*
 * True if the line table at OFFSET of .debug_line, of a unit that was compiled in a folder whose name has FOLDER bytes,
 * can be read within bounds; then *NAMES is more than the bytes of the names of its files.
 */
bool dwarfcost_lines(const struct dwarfcost *cost, uint64_t offset, size_t folder, uint64_t *names);

/* True if all units together read no more than a bounded number of bytes of abbreviation tables. */
bool dwarfcost_abbreviations(const struct dwarfcost *cost);
