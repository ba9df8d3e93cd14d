/* Finds the jumps of functions to their own first instructions. */
#include "probe/spec/reentry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/spec/site_check.h"

enum {
    MOST_MARKS = 256,           /* of one function */
    MOST_ADDRESSES = 64 * 1024, /* of one table */
};

static const char refused[] = "the kernel puts no probe on one of the jumps there, or behind it";
static const char by_table[] = "it jumps there by a table";
static const char many[] = "too many jumps lead there";

/* The marks of one function while they are looked for. */
struct marks {
    struct reentry_mark items[MOST_MARKS];
    size_t count;
    bool repeats;
    const char *unknown;
};

static void add(struct marks *marks, uint64_t inside, bool passed)
{
    for (size_t i = 0; i < marks->count; i++)
        if (marks->items[i].inside == inside) {
            /* a jump that stands behind another one: what comes after it is known once it has run */
            marks->items[i].passed &= passed;
            return;
        }
    if (marks->count == MOST_MARKS)
        marks->unknown = many;
    else
        marks->items[marks->count++] = (struct reentry_mark){inside, passed};
}

/* Whether a probe may stand on the instruction that the SIZE bytes of CODE begin with. */
static bool bears_probe(const struct arch_code *arch, const uint8_t *code, size_t size)
{
    struct arch_instruction instruction;
    return arch->decode(code, size, &instruction) && !instruction.refused && !site_harm(&instruction, true);
}

/* Notes that INSTRUCTION at AT, which leads to the entry, may do so or go on. */
static void add_jump(struct marks *marks, const struct arch_code *arch, const uint8_t *code, size_t size, size_t at,
                     const struct arch_instruction *instruction)
{
    size_t next = at + instruction->length;
    bool goes_on = instruction->conditional || instruction->repeats;
    bool is_entry = at == 0;
    if ((!is_entry && !bears_probe(arch, code + at, size - at)) ||
        (goes_on && (next >= size || !bears_probe(arch, code + next, size - next))))
        marks->unknown = refused;
    marks->repeats |= is_entry;
    if (!is_entry)
        add(marks, at, false);
    if (goes_on)
        add(marks, next, true);
}

/* What may be a table of places in a function. Compilers align it. */
struct table {
    const struct slide_code *code;
    bool entry, other; /* it leads there, or elsewhere in the function */
};

/* Takes the next entry of TABLE, which leads to TARGET. False: that is enough, or it is none. */
static bool add_entry(struct table *table, uint64_t target)
{
    bool is_own = target - table->code->address < table->code->size;
    table->entry |= target == table->code->address;
    table->other |= is_own && target != table->code->address;
    return is_own && !(table->entry && table->other);
}

/* Whether 4-byte distances from there lie at ADDRESS, one of which leads to the entry of CODE's function. */
static bool distances_lead_to_entry(const struct slide_code *code, uint64_t address)
{
    struct table table = {.code = code};
    int32_t part[32];
    size_t count = address % sizeof *part ? 0 : sizeof part / sizeof *part;
    for (uint64_t at = address; count == sizeof part / sizeof *part; at += sizeof part) {
        count = code->file->read(code->file->context, at, part, sizeof part) / sizeof *part;
        for (size_t i = 0; i < count; i++)
            if (!add_entry(&table, address + (uint64_t)(int64_t)part[i]))
                return table.entry && table.other;
    }
    return false;
}

/* The same of 8-byte addresses. */
static bool addresses_lead_to_entry(const struct slide_code *code, uint64_t address)
{
    struct table table = {.code = code};
    for (size_t i = 0; i < MOST_ADDRESSES && add_entry(&table, code->file->word(code->file->context, address + 8 * i));
         i++)
        continue;
    return table.entry && table.other;
}

/* Whether a table that the function's instructions mention leads to its entry. */
static bool has_table_to_entry(const struct arch_code *arch, const struct slide_code *code)
{
    const uint8_t *bytes = code->bytes + code->before;
    struct arch_instruction instruction;
    for (size_t at = 0; at < code->size && arch->decode(bytes + at, code->size - at, &instruction);
         at += instruction.length) {
        bool relative = instruction.refers && !instruction.absolute;
        uint64_t place = relative ? code->address + at + (uint64_t)instruction.target : instruction.absolute;
        if (place && ((relative && distances_lead_to_entry(code, place)) ||
                      ((instruction.refers || instruction.indexed) && addresses_lead_to_entry(code, place))))
            return true;
    }
    return false;
}

int reentry_find(const struct arch_code *arch, const struct slide_code *code, struct reentries **reentries)
{
    const uint8_t *bytes = code->bytes + code->before;
    size_t size = code->size;
    struct marks marks = {0};
    struct arch_instruction instruction;
    uint64_t jumps_by = 0;
    *reentries = NULL;
    bool repeats = arch->decode(bytes, size, &instruction) && instruction.repeats;
    if (!repeats && arch->jumps_by_none(bytes, size) &&
        arch->leads_nowhere(bytes, size, code->address, code->address, code->address + 1))
        return 0;
    if (repeats)
        add_jump(&marks, arch, bytes, size, 0, &instruction);
    for (size_t at = 0; at < size;) {
        if (!arch->decode(bytes + at, size - at, &instruction)) {
            at += arch->step;
            continue;
        }
        if (instruction.direct && !instruction.calls && (int64_t)at + instruction.target == 0)
            add_jump(&marks, arch, bytes, size, at, &instruction);
        jumps_by |= instruction.jumps_by;
        at += instruction.length;
    }
    if (jumps_by && has_table_to_entry(arch, code))
        marks.unknown = by_table;
    if (!marks.count && !marks.repeats && !marks.unknown)
        return 0;
    size_t count = marks.unknown ? 0 : marks.count;
    struct reentries *found = malloc(sizeof *found + count * sizeof *found->marks);
    if (!found)
        return -ENOMEM;
    found->unknown = marks.unknown;
    found->repeats = marks.repeats;
    found->count = count;
    memcpy(found->marks, marks.items, count * sizeof *found->marks);
    *reentries = found;
    return 0;
}
