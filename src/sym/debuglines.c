/* The lines of one function's code, from the line table of its unit. */
#include "sym/debuglines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

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
