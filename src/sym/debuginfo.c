/*
 * A compilation unit is found by the ranges that it states, or, if it states none, by those of its functions. A unit is
 * read when an address first falls into it. Its functions, and the functions that are inlined into them, become a tree
 * of nodes whose ranges are cut into spans. So a lookup costs two binary searches and one in the unit's line table.
 *
 * libdw is given copies of the sections that it needs and nothing else (dwarfcopy.h).
 */
#include "sym/debuginfo.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "sym/debugentry.h"
#include "sym/demangle.h"
#include "sym/dwarfcopy.h"
#include "sym/spans.h"

#define MAX_MEMORY (UINT64_C(1) << 30) /* bytes that line tables may keep */

enum {
    MAX_UNITS = 1 << 20,
    MAX_NODES = 1 << 22,     /* in one unit */
    MAX_INTERVALS = 1 << 23, /* of one unit, and of all units together */
    MAX_DEPTH = 256,         /* of entries inside each other */
    LINE_BYTES = 40,         /* libdw's struct Dwarf_Line_s with the place that it takes */
};

/* A function, or one that was inlined. */
struct node {
    uint32_t parent;
    bool inlined;
    Dwarf_Off entry; /* where it stands in .debug_info */
    char *name;      /* once asked for */
};

struct unit {
    Dwarf_Off entry;
    Dwarf_Half version;
    bool parsed;
    bool unread; /* its line table */
    struct node *nodes;
    size_t node_count, node_capacity;
    struct spans spans; /* of nodes */
    Dwarf_Lines *lines;
    size_t line_count;
    Dwarf_Files *files;
    char **texts; /* per file: its name made printable, once asked for */
    size_t file_count;
};

struct debuginfo {
    struct dwarfcopy own, common; /* common: what the file shares with others */
    struct unit *units;
    size_t unit_count;
    struct spans spans; /* of units */
    uint64_t memory;    /* bytes that line tables may still keep */
    size_t unread;      /* units whose line table is not read */
    uint64_t budget; /* entries and ranges that may still be read: healthy ones take a byte at least, but references go
                        in circles */
};

struct intervals {
    struct interval *items;
    size_t count, capacity;
};

static void push_interval(struct intervals *list, uint64_t start, uint64_t end, uint32_t owner)
{
    /* What the linker dropped keeps its entries, at address 0 or 1. */
    if (start < 2 || start >= end || list->count >= MAX_INTERVALS)
        return;
    if (!array_room(&list->items, list->count, &list->capacity, sizeof *list->items))
        return;
    list->items[list->count++] = (struct interval){start, end, owner};
}

/* Adds the ranges of ENTRY: true if it has any. */
static bool push_ranges(struct debuginfo *debuginfo, struct intervals *list, Dwarf_Die *entry, uint32_t owner)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    bool any = false;
    while (debuginfo->budget && (at = dwarf_ranges(entry, at, &base, &start, &end)) > 0) {
        debuginfo->budget--;
        push_interval(list, start, end, owner);
        any = true;
    }
    return any;
}

/* --- the tree of a unit ------------------------------------------------------------------------------------------- */

static bool is_function(int tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

static uint32_t push_node(struct unit *unit, uint32_t parent, Dwarf_Die *entry)
{
    if (unit->node_count >= MAX_NODES ||
        !array_room(&unit->nodes, unit->node_count, &unit->node_capacity, sizeof *unit->nodes))
        return SPANS_NOBODY;
    unit->nodes[unit->node_count] = (struct node){
        .parent = parent,
        .inlined = dwarf_tag(entry) == DW_TAG_inlined_subroutine,
        .entry = dwarf_dieoffset(entry),
    };
    return (uint32_t)unit->node_count++;
}

/* Makes nodes of the functions among the entries below PARENT. */
static void read_children(struct debuginfo *debuginfo, struct unit *unit, Dwarf_Die *parent, uint32_t node,
                          struct intervals *list, unsigned depth)
{
    Dwarf_Die entry;
    if (depth == MAX_DEPTH || dwarf_child(parent, &entry))
        return;
    do {
        if (!debuginfo->budget)
            return;
        debuginfo->budget--;
        int tag = dwarf_tag(&entry);
        if (!debugentry_holds_functions(tag))
            continue;
        uint32_t inside = node;
        if (is_function(tag)) {
            size_t before = list->count;
            uint32_t own = (uint32_t)unit->node_count;
            if (push_ranges(debuginfo, list, &entry, own)) {
                inside = push_node(unit, node, &entry);
                if (inside == SPANS_NOBODY) {
                    list->count = before;
                    return;
                }
            }
        }
        read_children(debuginfo, unit, &entry, inside, list, depth + 1);
    } while (!dwarf_siblingof(&entry, &entry));
}

/*
 * True if the line table of UNIT, whose entry is ENTRY, can be read: it has a healthy size, and *NAMES is more than the
 * bytes of the names of its files. Otherwise it is counted, once.
 */
static bool has_readable_lines(struct debuginfo *debuginfo, struct unit *unit, Dwarf_Die *entry, uint64_t *names)
{
    Dwarf_Attribute attribute;
    Dwarf_Word offset;
    const char *folder = dwarf_attr(entry, DW_AT_comp_dir, &attribute) ? dwarf_formstring(&attribute) : NULL;
    if (!dwarf_attr(entry, DW_AT_stmt_list, &attribute))
        return false;
    if (!dwarf_formudata(&attribute, &offset) &&
        dwarfcost_lines(&debuginfo->own.cost, offset, folder ? strlen(folder) : 0, names) &&
        *names <= debuginfo->memory)
        return true;
    debuginfo->unread += !unit->unread;
    unit->unread = true;
    return false;
}

/* Has libdw read the line table of UNIT, whose entry is ENTRY. */
static void read_lines(struct debuginfo *debuginfo, struct unit *unit, Dwarf_Die *entry)
{
    uint64_t names;
    if (!has_readable_lines(debuginfo, unit, entry, &names))
        return;
    if (dwarf_getsrclines(entry, &unit->lines, &unit->line_count))
        unit->lines = NULL;
    if (dwarf_getsrcfiles(entry, &unit->files, &unit->file_count))
        unit->files = NULL;
    else
        unit->texts = calloc(unit->file_count, sizeof *unit->texts);
    uint64_t kept = names + (unit->lines ? unit->line_count * LINE_BYTES : 0);
    debuginfo->memory -= kept < debuginfo->memory ? kept : debuginfo->memory;
}

static void parse_unit(struct debuginfo *debuginfo, struct unit *unit)
{
    Dwarf_Die entry;
    struct intervals list = {0};
    unit->parsed = true;
    if (!dwarf_offdie(debuginfo->own.dwarf, unit->entry, &entry))
        return;
    read_children(debuginfo, unit, &entry, SPANS_NOBODY, &list, 0);
    spans_build(&unit->spans, list.items, list.count);
    free(list.items);
    read_lines(debuginfo, unit, &entry);
}

/* --- the units --- */

static int read_units(struct debuginfo *debuginfo)
{
    struct intervals list = {0};
    size_t capacity = 0;
    Dwarf_CU *cu = NULL;
    Dwarf_Die entry;
    Dwarf_Half version;
    uint8_t type;
    int rc = 0;
    while (!rc && debuginfo->unit_count < MAX_UNITS &&
           !dwarf_get_units(debuginfo->own.dwarf, cu, &cu, &version, &type, &entry, NULL)) {
        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        if (!array_room(&debuginfo->units, debuginfo->unit_count, &capacity, sizeof *debuginfo->units)) {
            rc = -ENOMEM;
            break;
        }
        uint32_t number = (uint32_t)debuginfo->unit_count++;
        struct unit *unit = &debuginfo->units[number];
        *unit = (struct unit){.entry = dwarf_dieoffset(&entry), .version = version};
        if (push_ranges(debuginfo, &list, &entry, number))
            continue;
        parse_unit(debuginfo, unit);
        for (size_t i = 0; i < unit->spans.count; i++)
            if (unit->spans.owners[i] != SPANS_NOBODY)
                push_interval(&list, unit->spans.starts[i],
                              i + 1 < unit->spans.count ? unit->spans.starts[i + 1] : UINT64_MAX, number);
    }
    if (!rc)
        rc = spans_build(&debuginfo->spans, list.items, list.count);
    free(list.items);
    return rc;
}

bool debuginfo_is_in(const struct elf_file *elf)
{
    return dwarfcopy_is_possible(elf);
}

int debuginfo_open(struct debuginfo **result, const struct elf_file *elf, const struct elf_file *common,
                   bool with_locations)
{
    struct debuginfo *debuginfo = calloc(1, sizeof *debuginfo);
    if (!debuginfo)
        return -ENOMEM;
    int rc = dwarfcopy_open(&debuginfo->own, elf, with_locations);
    if (!rc && common && !dwarfcopy_open(&debuginfo->common, common, false))
        dwarf_setalt(debuginfo->own.dwarf, debuginfo->common.dwarf);
    debuginfo->budget = debuginfo->own.whole;
    debuginfo->memory = MAX_MEMORY;
    if (!rc)
        rc = read_units(debuginfo);
    if (rc)
        debuginfo_free(debuginfo);
    else
        *result = debuginfo;
    return rc;
}

static void unit_free(struct unit *unit)
{
    for (size_t i = 0; i < unit->node_count; i++)
        free(unit->nodes[i].name);
    for (size_t i = 0; unit->texts && i < unit->file_count; i++)
        free(unit->texts[i]);
    free(unit->texts);
    free(unit->nodes);
    spans_free(&unit->spans);
}

void debuginfo_free(struct debuginfo *debuginfo)
{
    if (!debuginfo)
        return;
    for (size_t i = 0; i < debuginfo->unit_count; i++)
        unit_free(&debuginfo->units[i]);
    free(debuginfo->units);
    spans_free(&debuginfo->spans);
    dwarfcopy_close(&debuginfo->own);
    dwarfcopy_close(&debuginfo->common);
    free(debuginfo);
}

size_t debuginfo_unread(const struct debuginfo *debuginfo)
{
    return debuginfo->unread;
}

/* --- one address --- */

/* The text of attribute NAME, of ENTRY or of what it is an instance or the definition of. */
static const char *text_of(Dwarf_Die *entry, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr_integrate(entry, name, &attribute));
}

static const char *node_name(struct debuginfo *debuginfo, struct node *node)
{
    Dwarf_Die entry;
    if (!node->name && dwarf_offdie(debuginfo->own.dwarf, node->entry, &entry)) {
        const char *name = text_of(&entry, DW_AT_linkage_name);
        if (!name)
            name = text_of(&entry, DW_AT_MIPS_linkage_name); /* what compilers called it before DWARF 4 */
        if (!name)
            name = text_of(&entry, DW_AT_name);
        node->name = name ? demangle(name) : NULL;
    }
    return node->name;
}

/* True if NAME, as libdw gives it, is still to be put below FOLDER, where the compiler ran: it joins them only in some
 * cases. */
static bool is_below(const char *folder, const char *name, Dwarf_Half version)
{
    size_t length = strlen(folder);
    bool joined = version < 5 && !strncmp(name, folder, length) && name[length] == '/';
    return name[0] != '/' && !joined;
}

/* File NUMBER of the unit's table. */
static const char *file_name(struct debuginfo *debuginfo, struct unit *unit, size_t number)
{
    if (!unit->texts || number >= unit->file_count)
        return NULL;
    if (!unit->texts[number]) {
        const char *name = dwarf_filesrc(unit->files, number, NULL, NULL), *folder = NULL;
        Dwarf_Die entry;
        if (name && dwarf_offdie(debuginfo->own.dwarf, unit->entry, &entry))
            folder = text_of(&entry, DW_AT_comp_dir);
        char *whole = NULL;
        if (folder && is_below(folder, name, unit->version) && asprintf(&whole, "%s/%s", folder, name) < 0)
            whole = NULL;
        unit->texts[number] = name ? text_escape(whole ? whole : name) : NULL;
        free(whole);
    }
    return unit->texts[number];
}

/* Where the code of ADDRESS itself comes from. */
static void find_line(struct debuginfo *debuginfo, struct unit *unit, uint64_t address, struct source_line *place)
{
    size_t low = 0, high = unit->lines ? unit->line_count : 0;
    while (low < high) { /* to the first line that begins after ADDRESS */
        size_t middle = low + (high - low) / 2;
        Dwarf_Addr start;
        if (dwarf_lineaddr(dwarf_onesrcline(unit->lines, middle), &start))
            return;
        if (start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    Dwarf_Line *line = low ? dwarf_onesrcline(unit->lines, low - 1) : NULL;
    bool end;
    int number;
    size_t file;
    Dwarf_Files *files;
    if (!line || dwarf_lineendsequence(line, &end) || end)
        return;
    if (!dwarf_lineno(line, &number) && number > 0)
        place->line = (unsigned)number;
    if (!dwarf_line_file(line, &files, &file))
        place->file = file_name(debuginfo, unit, file);
}

/* Where the function of NODE was inlined. */
static void find_call(struct debuginfo *debuginfo, struct unit *unit, const struct node *node,
                      struct source_line *place)
{
    Dwarf_Die entry;
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    if (!dwarf_offdie(debuginfo->own.dwarf, node->entry, &entry))
        return;
    if (dwarf_attr(&entry, DW_AT_call_file, &attribute) && !dwarf_formudata(&attribute, &number))
        place->file = file_name(debuginfo, unit, number);
    if (dwarf_attr(&entry, DW_AT_call_line, &attribute) && !dwarf_formudata(&attribute, &number))
        place->line = (unsigned)number;
}

/* The unit that ADDRESS lies in, parsed; NULL: it lies in none. */
static struct unit *unit_at(struct debuginfo *debuginfo, uint64_t address)
{
    uint32_t number = spans_find(&debuginfo->spans, address);
    struct unit *unit = number == SPANS_NOBODY ? NULL : &debuginfo->units[number];
    if (unit && !unit->parsed)
        parse_unit(debuginfo, unit);
    return unit;
}

size_t debuginfo_lookup(struct debuginfo *debuginfo, uint64_t address, struct source_line *places, size_t room)
{
    struct unit *unit = room ? unit_at(debuginfo, address) : NULL;
    if (!unit)
        return 0;
    places[0] = (struct source_line){0};
    find_line(debuginfo, unit, address, &places[0]);
    uint32_t at = spans_find(&unit->spans, address);
    size_t count = 1;
    while (at != SPANS_NOBODY) {
        struct node *node = &unit->nodes[at];
        struct source_line *place = &places[count - 1];
        place->function = node_name(debuginfo, node);
        place->entry = node->entry;
        place->inlined = node->inlined;
        if (!node->inlined || count == room)
            break;
        places[count] = (struct source_line){0};
        find_call(debuginfo, unit, node, &places[count++]);
        at = node->parent;
    }
    return count == 1 && !places[0].file && !places[0].function ? 0 : count;
}

/* --- for those who read entries themselves --- */

bool debuginfo_function(struct debuginfo *debuginfo, uint64_t address, bool inlined, uint64_t *entry)
{
    const struct unit *unit = unit_at(debuginfo, address);
    uint32_t at = unit ? spans_find(&unit->spans, address) : SPANS_NOBODY;
    while (at != SPANS_NOBODY && unit->nodes[at].inlined && !inlined)
        at = unit->nodes[at].parent;
    if (at == SPANS_NOBODY)
        return false;
    *entry = unit->nodes[at].entry;
    return true;
}

static struct unit *unit_of(struct debuginfo *debuginfo, Dwarf_CU *cu)
{
    Dwarf_Die entry;
    if (!dwarf_cu_die(cu, &entry, NULL, NULL, NULL, NULL, NULL, NULL))
        return NULL;
    Dwarf_Off offset = dwarf_dieoffset(&entry);
    for (size_t i = 0; i < debuginfo->unit_count; i++)
        if (debuginfo->units[i].entry == offset)
            return &debuginfo->units[i];
    return NULL;
}

const char *debuginfo_declared_in(struct debuginfo *debuginfo, uint64_t entry)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number;
    Dwarf_Die found;
    if (!dwarf_offdie(debuginfo->own.dwarf, entry, &found) ||
        dwarf_formudata(dwarf_attr_integrate(&found, DW_AT_decl_file, &attribute), &number))
        return NULL;
    struct unit *unit = unit_of(debuginfo, attribute.cu);
    if (unit && !unit->parsed)
        parse_unit(debuginfo, unit);
    return unit ? file_name(debuginfo, unit, number) : NULL;
}

const char *debuginfo_split_file(struct debuginfo *debuginfo, uint64_t address)
{
    const struct unit *unit = unit_at(debuginfo, address);
    Dwarf_Attribute attribute;
    Dwarf_Die entry;
    if (!unit || !dwarf_offdie(debuginfo->own.dwarf, unit->entry, &entry))
        return NULL;
    const char *name = dwarf_formstring(dwarf_attr(&entry, DW_AT_dwo_name, &attribute)); /* of DWARF 5, and before: */
    return name ? name : dwarf_formstring(dwarf_attr(&entry, DW_AT_GNU_dwo_name, &attribute));
}

struct Dwarf_Lines_s *debuginfo_lines(struct debuginfo *debuginfo, uint64_t address, size_t *count)
{
    const struct unit *unit = unit_at(debuginfo, address);
    *count = unit && unit->lines ? unit->line_count : 0;
    return unit ? unit->lines : NULL;
}

struct Dwarf *debuginfo_dwarf(struct debuginfo *debuginfo)
{
    return debuginfo->own.dwarf;
}

struct bytes debuginfo_section(const struct debuginfo *debuginfo, enum debuginfo_section section)
{
    static const uint8_t nothing[1];
    const struct dwarfcopy *own = &debuginfo->own;
    const struct dwarfcost_section *wanted = section == DEBUGINFO_ENTRIES     ? &own->cost.info
                                             : section == DEBUGINFO_LISTS     ? &own->lists
                                             : section == DEBUGINFO_OLD_LISTS ? &own->old_lists
                                                                              : &own->addresses;
    return bytes_of(wanted->bytes ? wanted->bytes : nothing, wanted->bytes ? wanted->size : 0);
}

/* --- from lines to addresses --- */

bool debuginfo_is_file(const char *name, const char *file)
{
    size_t length = strlen(name), wanted = strlen(file);
    return length >= wanted && strcmp(name + length - wanted, file) == 0 &&
           (length == wanted || file[0] == '/' || name[length - wanted - 1] == '/');
}

/* True if some of the files that UNIT's lines come from is FILE. */
static bool has_file(struct debuginfo *debuginfo, struct unit *unit, const char *file)
{
    Dwarf_Die entry;
    uint64_t names;
    Dwarf_Files *files;
    size_t count;
    const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    if (!dwarf_offdie(debuginfo->own.dwarf, unit->entry, &entry) ||
        !has_readable_lines(debuginfo, unit, &entry, &names) || dwarf_getsrcfiles(&entry, &files, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *name = dwarf_filesrc(files, i, NULL, NULL);
        if (name && debuginfo_is_file(name, base))
            return true;
    }
    return false;
}

/* What debuginfo_find_line looks for. */
struct line_search {
    const char *file;
    unsigned line, nearest;
};

/* The address of ROW of UNIT's table if it is of the line sought, else 0. */
static uint64_t address_of_row(struct debuginfo *debuginfo, struct unit *unit, size_t row, struct line_search *search,
                               bool *begins)
{
    Dwarf_Line *line = dwarf_onesrcline(unit->lines, row);
    bool end;
    int number;
    size_t file;
    Dwarf_Files *files;
    Dwarf_Addr address;
    if (!line || dwarf_lineendsequence(line, &end) || end || dwarf_linebeginstatement(line, begins) ||
        dwarf_lineno(line, &number) || number <= 0 || dwarf_lineaddr(line, &address) || address < 2 ||
        dwarf_line_file(line, &files, &file))
        return 0;
    const char *name = file_name(debuginfo, unit, file);
    if (!name || !debuginfo_is_file(name, search->file))
        return 0;
    if ((unsigned)number == search->line)
        return address;
    if (!*begins)
        return 0;
    unsigned distance = (unsigned)abs(number - (int)search->line),
             best = (unsigned)abs((int)search->nearest - (int)search->line);
    if (!search->nearest || distance < best)
        search->nearest = (unsigned)number;
    return 0;
}

void debuginfo_find_line(struct debuginfo *debuginfo, const char *file, unsigned line,
                         void (*visit)(uint64_t address, bool statement, void *context), void *context,
                         unsigned *nearest)
{
    struct line_search search = {.file = file, .line = line};
    bool found = false;
    for (size_t u = 0; u < debuginfo->unit_count; u++) {
        struct unit *unit = &debuginfo->units[u];
        if (!unit->parsed && !has_file(debuginfo, unit, file))
            continue;
        if (!unit->parsed)
            parse_unit(debuginfo, unit);
        for (size_t row = 0; unit->lines && row < unit->line_count; row++) { /* by address */
            bool statement;
            uint64_t address = address_of_row(debuginfo, unit, row, &search, &statement);
            if (!address)
                continue;
            visit(address, statement, context);
            found |= statement;
        }
    }
    *nearest = found ? 0 : search.nearest;
}
