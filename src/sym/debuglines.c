/* Lines, from the line tables of units, and the functions that they belong to. */
#include "sym/debuglines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

#include "base/array.h"
#include "sym/debugentry.h"
#include "sym/debuginlined.h"

/* --- where a line begins --- */

enum { MAX_INSIDE = 32 }; /* inlined functions, one inside of the other */

/* A function, or a place where it is inlined, to which code of the line belongs. */
struct instance {
    uint64_t entry;    /* where in .debug_info; 0: not known */
    uint64_t function; /* the one that is itself not inlined */
    unsigned declared; /* the line where the source begins it, in the file and above the line that is sought; or 0 */
    bool contains;     /* the code is inside of it, neither where it is entered nor where some of it ends */
};

/* The first code of the line in one instance. */
struct begin {
    struct instance instance;
    uint64_t address;
    bool statement; /* the line begins there */
    bool cold;      /* it is in a part of the function that compilers have put apart, since it seldom runs */
};

struct line_search {
    struct debuginfo *debuginfo;
    const char *file;
    unsigned line;
    struct begin *begins;
    size_t count, capacity;
    bool exhausted;
    uint64_t address; /* of a row, whose instance is looked for */
    struct instance best;
};

/* The functions that an inlined one is inside of, from the inside out. */
struct chain {
    uint64_t root, entry;
    const struct chain *outer;
};

static const struct begin *find_begin(const struct line_search *search, uint64_t entry)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->begins[i].instance.entry == entry)
            return &search->begins[i];
    return NULL;
}

/* Where the source begins the function of ENTRY, if the line may be its own: in the same file, above it. Else 0. */
static unsigned declared_above(const struct line_search *search, Dwarf_Die *entry)
{
    unsigned declared = debuglines_declared(search->debuginfo, dwarf_dieoffset(entry));
    const char *file =
        declared && declared <= search->line ? debuginfo_declared_in(search->debuginfo, dwarf_dieoffset(entry)) : NULL;
    return file && debuginfo_is_file(file, search->file) ? declared : 0;
}

/*
 * A line's own function is the one that begins last above it. Rows without length stand where what they are of begins
 * or ends: of two instances that touch there, it is the one that has no code of the line yet.
 */
static bool is_better(const struct line_search *search, const struct instance *instance)
{
    const struct instance *best = &search->best;
    if (instance->declared != best->declared)
        return instance->declared > best->declared;
    if (instance->contains != best->contains)
        return instance->contains;
    return instance->contains || (find_begin(search, best->entry) && !find_begin(search, instance->entry));
}

/* Whether the row's address is at the edge of ENTRY's code, or, *CONTAINS, inside of it. */
static bool touches(const struct line_search *search, Dwarf_Die *entry, bool *contains)
{
    Dwarf_Addr base, start, end, first;
    ptrdiff_t at = 0;
    bool entered = !dwarf_entrypc(entry, &first) && first == search->address, touched = entered;
    *contains = false;
    while ((at = dwarf_ranges(entry, at, &base, &start, &end)) > 0) {
        *contains |= start <= search->address && search->address < end && !entered;
        touched |= start <= search->address && search->address <= end;
    }
    return touched;
}

static void look_inside(struct line_search *search, Dwarf_Die *parent, const struct chain *around, int depth)
{
    Dwarf_Die entry;
    if (depth == MAX_INSIDE || dwarf_child(parent, &entry))
        return;
    do {
        int tag = dwarf_tag(&entry);
        if (tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block)
            look_inside(search, &entry, around, depth + 1);
        struct instance instance = {.function = search->best.function};
        if (tag != DW_TAG_inlined_subroutine || !touches(search, &entry, &instance.contains))
            continue;
        Dwarf_Die root = debugentry_root(entry);
        struct chain chain = {dwarf_dieoffset(&root), dwarf_dieoffset(&entry), around};
        /* A part that was split from a function and put back is the function. */
        bool is_part = debuginlined_is_part(&entry);
        for (const struct chain *outer = around; is_part && outer; outer = outer->outer)
            if (outer->root == chain.root) {
                chain.entry = outer->entry;
                break;
            }
        instance.entry = chain.entry;
        instance.declared = declared_above(search, &entry);
        if (instance.declared && is_better(search, &instance))
            search->best = instance;
        look_inside(search, &entry, &chain, depth + 1);
    } while (debugentry_next(&entry));
}

/* True if ADDRESS is not in that range of FUNCTION's code where it is entered. */
static bool is_cold(Dwarf_Die *function, uint64_t address)
{
    Dwarf_Addr base, start, end, entered;
    ptrdiff_t at = 0;
    bool known = !dwarf_entrypc(function, &entered); /* else it is the first range */
    while ((at = dwarf_ranges(function, at, &base, &start, &end)) > 0)
        if (!known || (start <= entered && entered < end))
            return address < start || address >= end;
    return false;
}

/* The instance to which the row at ADDRESS belongs. */
static struct instance instance_at(struct line_search *search, uint64_t address, bool *cold)
{
    uint64_t function;
    Dwarf_Die entry;
    search->address = address;
    search->best = (struct instance){0};
    *cold = false;
    if (!debuginfo_function(search->debuginfo, address, false, &function) ||
        !dwarf_offdie(debuginfo_dwarf(search->debuginfo), function, &entry) || !debugentry_begin())
        return search->best;
    search->best = (struct instance){function, function, declared_above(search, &entry), true};
    *cold = is_cold(&entry, address);
    Dwarf_Die root = debugentry_root(entry);
    look_inside(search, &entry, &(struct chain){dwarf_dieoffset(&root), function, NULL}, 0);
    debugentry_end();
    return search->best;
}

/* Several units may have the code of one function, and each of them describes what the linker has kept of one. */
static void note_begin(uint64_t address, bool statement, void *context)
{
    struct line_search *search = context;
    bool cold;
    struct instance instance = instance_at(search, address, &cold);
    struct begin *known = (struct begin *)find_begin(search, instance.entry);
    struct begin begin = {instance, address, statement, cold};
    if (known) {
        if (known->statement == statement ? known->cold && !cold : statement)
            *known = begin;
        return;
    }
    if (!array_room(&search->begins, search->count, &search->capacity, sizeof *search->begins)) {
        search->exhausted = true;
        return;
    }
    search->begins[search->count++] = begin;
}

/*
 * True if BEGIN is one of the line's. Code that the compiler has merged with that of an inlined function may have a
 * line of this and belong to the function around it: it runs with the other. Of copies side by side, only the first may
 * say that a statement begins.
 */
static bool counts(const struct line_search *search, const struct begin *begin, unsigned declared)
{
    bool own = begin->instance.declared && begin->instance.declared == declared;
    if (own)
        return begin->statement || begin->instance.entry != begin->instance.function;
    for (size_t i = 0; i < search->count; i++)
        if (search->begins[i].instance.declared == declared && declared &&
            search->begins[i].instance.function == begin->instance.function)
            return false;
    return begin->statement;
}

bool debuglines_find(struct debuginfo *debuginfo, const char *file, unsigned line, uint64_t **addresses, size_t *count,
                     unsigned *nearest)
{
    struct line_search search = {.debuginfo = debuginfo, .file = file, .line = line};
    unsigned declared = 0;
    *count = 0;
    bool asked = debugentry_begin(); /* one question for all rows */
    debuginfo_find_line(debuginfo, file, line, note_begin, &search, nearest);
    if (asked)
        debugentry_end();
    *addresses = calloc(search.count + 1, sizeof **addresses);
    for (size_t i = 0; i < search.count; i++)
        if (search.begins[i].instance.declared > declared)
            declared = search.begins[i].instance.declared;
    for (size_t i = 0; i < search.count && *addresses && !*nearest; i++) {
        size_t same = 0;
        while (same < *count && (*addresses)[same] != search.begins[i].address)
            same++;
        if (same == *count && counts(&search, &search.begins[i], declared))
            (*addresses)[(*count)++] = search.begins[i].address;
    }
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
