/* Reckons what debug information would take to read, before libdw reads it. */
#include "sym/dwarfcost.h"

#include <dwarf.h>
#include <string.h>

#include "elf/bytes.h"

enum {
    /* bytes of one unit's line program: libdw takes 128 for each; the largest of cc1 has 0.5 MB */
    MAX_PROGRAM = 8 << 20,
    MAX_NAMES = 256 << 20, /* bytes of the names of a unit's files, each with its folder */
    /* bytes of all units' abbreviation tables; those of the kernel, of 3,000 units, have 9 MB */
    MAX_TABLES = 64 << 20,
    MAX_FORMATS = 16, /* parts of a file's description, of which DWARF 5 knows five */
};

static const uint8_t nothing[1];

/* The length of a unit, and whether its offsets have 8 bytes. */
static uint64_t take_length(struct bytes *at, size_t *offset_size)
{
    uint64_t length = bytes_unsigned(at, 4);
    *offset_size = length == 0xffffffff ? 8 : 4;
    return *offset_size == 8 ? bytes_unsigned(at, 8) : length;
}

/* The unit that begins at AT, without its length; AT is behind it then. */
static struct bytes take_unit(struct bytes *at, size_t *offset_size)
{
    uint64_t length = take_length(at, offset_size);
    struct bytes unit = bytes_inside(at, length);
    unit.failed = at->failed;
    return unit;
}

static struct bytes section_from(const struct dwarfcost_section *section, uint64_t offset)
{
    bool inside = offset < section->size;
    return bytes_of(inside ? section->bytes + offset : nothing, inside ? section->size - (size_t)offset : 0);
}

/* The length of the text that begins at AT, which is behind its NUL then. */
static uint64_t take_text(struct bytes *at)
{
    const uint8_t *end = bytes_left(at) ? memchr(at->at, 0, bytes_left(at)) : NULL;
    uint64_t length = end ? (uint64_t)(end - at->at) : 0;
    if (!end)
        at->failed = true;
    else
        at->at = end + 1;
    return length;
}

static uint64_t text_in(const struct dwarfcost_section *section, uint64_t offset)
{
    struct bytes text = section_from(section, offset);
    return take_text(&text);
}

/* --- line tables -------------------------------------------------------------------------------------------------- */

/* What the header says of names. */
struct names {
    uint64_t sum, longest_folder, files;
};

static void add_folder(struct names *names, uint64_t length)
{
    names->sum += length;
    if (length > names->longest_folder)
        names->longest_folder = length;
}

static void read_names(struct bytes *at, struct names *names)
{
    for (uint64_t length; !at->failed && (length = take_text(at));)
        add_folder(names, length);
    for (uint64_t length; !at->failed && (length = take_text(at));) {
        names->sum += length;
        names->files++;
        for (int i = 0; i < 3; i++) /* folder, time, size */
            bytes_uleb(at);
    }
}

/* Passes what has FORM; the length of the text that it is, or 0. */
static uint64_t take_form(const struct dwarfcost *cost, struct bytes *at, uint64_t form, size_t offset_size)
{
    switch (form) {
    case DW_FORM_string:
        return take_text(at);
    case DW_FORM_line_strp:
        return text_in(&cost->line_str, bytes_unsigned(at, offset_size));
    case DW_FORM_strp:
        return text_in(&cost->str, bytes_unsigned(at, offset_size));
    case DW_FORM_udata:
        bytes_uleb(at);
        return 0;
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
        bytes_take(at, form == DW_FORM_data1 ? 1 : form == DW_FORM_data2 ? 2 : form == DW_FORM_data4 ? 4 : 8);
        return 0;
    case DW_FORM_data16:
        bytes_take(at, 16);
        return 0;
    case DW_FORM_block:
        bytes_take(at, bytes_uleb(at));
        return 0;
    default: /* none that compilers write there */
        at->failed = true;
        return 0;
    }
}

/* A table of DWARF 5: of folders or of files. */
static void read_entries(const struct dwarfcost *cost, struct bytes *at, size_t offset_size, struct names *names,
                         bool folders)
{
    uint64_t forms[MAX_FORMATS], formats = bytes_unsigned(at, 1);
    if (formats > MAX_FORMATS)
        at->failed = true;
    for (uint64_t i = 0; i < formats && !at->failed; i++) {
        bytes_uleb(at); /* what it tells */
        forms[i] = bytes_uleb(at);
    }
    uint64_t count = bytes_uleb(at);
    if (count && !formats)
        at->failed = true;
    for (uint64_t i = 0; i < count && !at->failed && names->sum <= MAX_NAMES; i++) {
        const uint8_t *before = at->at;
        for (uint64_t f = 0; f < formats; f++) {
            uint64_t length = take_form(cost, at, forms[f], offset_size);
            if (folders)
                add_folder(names, length);
            else
                names->sum += length;
        }
        names->files += !folders;
        at->failed |= at->at == before; /* entries without bytes: any number of them */
    }
}

bool dwarfcost_lines(const struct dwarfcost *cost, uint64_t offset, size_t folder, uint64_t *result)
{
    struct names names = {.longest_folder = folder};
    size_t offset_size;
    struct bytes section = section_from(&cost->line, offset), at = take_unit(&section, &offset_size);
    uint64_t version = bytes_unsigned(&at, 2);
    if (version < 2 || version > 5)
        return false;
    if (version == 5)
        bytes_take(&at, 2); /* the sizes of addresses and segment selectors */
    uint64_t header_length = bytes_unsigned(&at, offset_size);
    if (at.failed || header_length > bytes_left(&at))
        return false;
    struct bytes program = bytes_of(at.at + header_length, bytes_left(&at) - (size_t)header_length);
    bytes_take(&at, version >= 4 ? 5 : 4);
    uint64_t opcodes = bytes_unsigned(&at, 1);
    bytes_take(&at, opcodes ? opcodes - 1 : 0);
    if (version < 5) {
        read_names(&at, &names);
    } else {
        read_entries(cost, &at, offset_size, &names, true);
        read_entries(cost, &at, offset_size, &names, false);
    }
    if (at.failed || names.sum > MAX_NAMES || bytes_left(&program) > MAX_PROGRAM)
        return false;
    /* A program may name files, too: each with an operation that has a 3 in it. */
    for (const uint8_t *byte = program.at; byte < program.end; byte++)
        names.files += *byte == DW_LNE_define_file;
    uint64_t longest = names.longest_folder + folder + 2; /* a folder may lie below that of the unit */
    if (longest > MAX_NAMES || names.files > MAX_NAMES / longest)
        return false;
    *result = names.sum + names.files * longest + bytes_left(&program);
    return *result <= MAX_NAMES;
}

/* --- abbreviations ------------------------------------------------------------------------------------------------ */

/* The bytes of the abbreviation table at OFFSET, which is read up to LIMIT. */
static uint64_t table_size(const struct dwarfcost *cost, uint64_t offset, uint64_t limit)
{
    struct bytes at = section_from(&cost->abbrev, offset);
    const uint8_t *start = at.at;
    while (!at.failed && (uint64_t)(at.at - start) < limit && bytes_left(&at) && bytes_uleb(&at)) {
        bytes_uleb(&at); /* the tag */
        bytes_take(&at, 1);
        for (uint64_t name = 1, form = 1; (name || form) && !at.failed;) {
            name = bytes_uleb(&at);
            form = bytes_uleb(&at);
            if (form == DW_FORM_implicit_const)
                bytes_sleb(&at);
        }
    }
    return (uint64_t)(at.at - start);
}

/* The bytes of the tables that the units in SECTION read, up to LIMIT. */
static uint64_t tables_size(const struct dwarfcost *cost, const struct dwarfcost_section *section, uint64_t limit)
{
    struct bytes at = section_from(section, 0);
    uint64_t sum = 0, last = UINT64_MAX, size = 0;
    while (bytes_left(&at) && !at.failed && sum <= limit) {
        size_t offset_size;
        struct bytes unit = take_unit(&at, &offset_size);
        uint64_t version = bytes_unsigned(&unit, 2);
        if (version >= 5)
            bytes_take(&unit, 2); /* the unit's type, the size of addresses */
        uint64_t offset = bytes_unsigned(&unit, offset_size);
        if (unit.failed)
            break;
        if (offset != last)
            size = table_size(cost, offset, limit);
        last = offset;
        sum += size;
    }
    return sum;
}

bool dwarfcost_abbreviations(const struct dwarfcost *cost)
{
    return tables_size(cost, &cost->info, MAX_TABLES) + tables_size(cost, &cost->types, MAX_TABLES) <= MAX_TABLES;
}
