/* Lines, from the line tables of units, and the functions that they belong to. */
#include "sym/debuglines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

#include "base/array.h"
#include "sym/debuginlined.h"

/* --- where a line begins --- */

/* The first code of the line in one function, or where that was inlined. */
struct begin {
    uint64_t function; /* where in .debug_info; 0: not known */
    uint64_t address;
    bool own; /* the line stands in that function's source */
};

struct line_search {
    struct debuginfo *debuginfo;
    const char *file;
    unsigned line;
    struct begin *begins;
    size_t count, capacity;
    bool any_own, exhausted;
};

/* True if the line can be one of the source of FUNCTION: that is declared in the same file, above it. */
static bool is_own(const struct line_search *search, uint64_t function)
{
    Dwarf_Die entry;
    unsigned declared = debuglines_declared(search->debuginfo, function);
    if (!declared || declared > search->line || !dwarf_offdie(debuginfo_dwarf(search->debuginfo), function, &entry))
        return false;
    const char *file = dwarf_decl_file(&entry);
    return file && debuginfo_is_file(file, search->file);
}

/* The function that has code at ADDRESS, or where that was inlined; 0: not known. */
static uint64_t function_at(struct debuginfo *debuginfo, uint64_t address)
{
    uint64_t function = 0;
    Dwarf_Die entry;
    if (debuginfo_function(debuginfo, address, true, &function) &&
        dwarf_offdie(debuginfo_dwarf(debuginfo), function, &entry) && dwarf_tag(&entry) == DW_TAG_inlined_subroutine &&
        debuginlined_is_part(&entry))
        debuginfo_function(debuginfo, address, false, &function);
    return function;
}

/* Several units may have the code of one function, and each of them describes what the linker has kept of one. */
static void note_begin(uint64_t address, void *context)
{
    struct line_search *search = context;
    uint64_t function = function_at(search->debuginfo, address);
    for (size_t i = 0; i < search->count; i++)
        if (search->begins[i].function == function)
            return;
    if (!array_room(&search->begins, search->count, &search->capacity, sizeof *search->begins)) {
        search->exhausted = true;
        return;
    }
    bool own = function && is_own(search, function);
    search->begins[search->count++] = (struct begin){function, address, own};
    search->any_own |= own;
}

/*
 * Code that the compiler has merged with that of an inlined function may have a line of this and belong to the function
 * around it, where the line is none of its own: it runs with the other.
 */
bool debuglines_find(struct debuginfo *debuginfo, const char *file, unsigned line, uint64_t **addresses, size_t *count,
                     unsigned *nearest)
{
    struct line_search search = {.debuginfo = debuginfo, .file = file, .line = line};
    *count = 0;
    debuginfo_find_line(debuginfo, file, line, note_begin, &search, nearest);
    *addresses = calloc(search.count + 1, sizeof **addresses);
    for (size_t i = 0; i < search.count && *addresses; i++)
        if (search.begins[i].own || !search.any_own)
            (*addresses)[(*count)++] = search.begins[i].address;
    free(search.begins);
    return *addresses && !search.exhausted;
}

/* --- the lines of one function --- */

/* The number of the first of COUNT rows that begins at or behind ADDRESS. */
static size_t first_row(Dwarf_Lines *lines, size_t count, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        Dwarf_Addr start;
        if (!dwarf_lineaddr(dwarf_onesrcline(lines, middle), &start) && start < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int debuglines_visit(struct debuginfo *debuginfo, uint64_t address,
                     int (*visit)(const struct debugline *line, void *context), void *context)
{
    size_t count;
    Dwarf_Lines *lines = debuginfo_lines(debuginfo, address, &count);
    uint64_t function, own;
    int result = 0;
    if (!debuginfo_function(debuginfo, address, false, &function))
        return 0;
    for (size_t i = 0; i < count && !result; i++) {
        Dwarf_Line *row = dwarf_onesrcline(lines, i);
        struct debugline line = {0};
        Dwarf_Addr start;
        bool begins, end;
        int number;
        if (!row || dwarf_lineaddr(row, &start) || dwarf_lineendsequence(row, &end) || end ||
            dwarf_linebeginstatement(row, &begins) || dwarf_lineno(row, &number) || number <= 0 ||
            !debuginfo_function(debuginfo, start, false, &own) || own != function)
            continue;
        line.address = start;
        line.statement = begins;
        line.line = (unsigned)number;
        debuginfo_function(debuginfo, start, true, &line.function);
        result = visit(&line, context);
    }
    return result;
}

unsigned debuglines_declared(struct debuginfo *debuginfo, uint64_t function)
{
    Dwarf_Die entry;
    Dwarf_Attribute attribute;
    Dwarf_Word line;
    bool known = dwarf_offdie(debuginfo_dwarf(debuginfo), function, &entry) &&
                 !dwarf_formudata(dwarf_attr_integrate(&entry, DW_AT_decl_line, &attribute), &line);
    return known && line <= INT32_MAX ? (unsigned)line : 0;
}

uint64_t debuglines_prologue_end(struct debuginfo *debuginfo, uint64_t address)
{
    enum { MOST_ROWS = 64 }; /* of a prologue */
    size_t count;
    Dwarf_Lines *lines = debuginfo_lines(debuginfo, address, &count);
    uint64_t second = address, function, own;
    size_t first = first_row(lines, count, address);
    bool known = debuginfo_function(debuginfo, address, false, &function);
    for (size_t i = first; known && i < count && i < first + MOST_ROWS; i++) {
        Dwarf_Line *row = dwarf_onesrcline(lines, i);
        Dwarf_Addr start;
        bool marked, end;
        if (!row || dwarf_lineaddr(row, &start) || dwarf_lineendsequence(row, &end) || end ||
            !debuginfo_function(debuginfo, start, false, &own) || own != function)
            break;
        if (second == address)
            second = start;
        if (!dwarf_lineprologueend(row, &marked) && marked)
            return start;
    }
    return second;
}
