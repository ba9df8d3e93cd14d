/*
 * Lists of locations, of DWARF 2 to 4 and of DWARF 5. They are read from their bytes, since libdw would allocate 32
 * bytes for each entry before anybody knows how many there are.
 */
#include "sym/location_list.h"

#include <dwarf.h>
#include <errno.h>

#include "sym/debugentry.h"

enum {
    MAX_RANGES = 1 << 20, /* of one list */
    DW_LLE_GNU_VIEW_PAIR = 9,
};

bool location_indexed(struct location_context *context, uint64_t number, uint64_t *address)
{
    struct bytes section = debuginfo_section(context->debuginfo, DEBUGINFO_ADDRESSES);
    Dwarf_Word base;
    if (!debugentry_number(&context->unit, DW_AT_addr_base, &base))
        base = 8; /* behind the header of the only table */
    if (base > bytes_left(&section) || number >= (bytes_left(&section) - base) / 8)
        return false;
    bytes_take(&section, base + 8 * number);
    *address = bytes_unsigned(&section, 8);
    return true;
}

/* --- lists --- */

/* A list's reader; START and END are those of the entry that was read last. */
struct list {
    struct location_context *context;
    struct bytes at;
    uint64_t base, start, end;
};

static uint64_t take_indexed(struct list *list)
{
    uint64_t address = 0;
    if (!location_indexed(list->context, bytes_uleb(&list->at), &address))
        list->at.failed = true;
    return address;
}

/* Goes on to the next entry of a list of DWARF 5: false at its end. */
static bool next_of_five(struct list *list, struct bytes *expression)
{
    for (unsigned read = 0; read < MAX_RANGES && !list->at.failed; read++) {
        switch (bytes_unsigned(&list->at, 1)) {
        case DW_LLE_base_addressx:
            list->base = take_indexed(list);
            continue;
        case DW_LLE_base_address:
            list->base = bytes_unsigned(&list->at, 8);
            continue;
        case DW_LLE_GNU_VIEW_PAIR:
            bytes_uleb(&list->at);
            bytes_uleb(&list->at);
            continue;
        case DW_LLE_startx_endx:
            list->start = take_indexed(list);
            list->end = take_indexed(list);
            break;
        case DW_LLE_startx_length:
            list->start = take_indexed(list);
            list->end = list->start + bytes_uleb(&list->at);
            break;
        case DW_LLE_offset_pair:
            list->start = list->base + bytes_uleb(&list->at);
            list->end = list->base + bytes_uleb(&list->at);
            break;
        case DW_LLE_default_location:
            list->start = 0;
            list->end = UINT64_MAX;
            break;
        case DW_LLE_start_end:
            list->start = bytes_unsigned(&list->at, 8);
            list->end = bytes_unsigned(&list->at, 8);
            break;
        case DW_LLE_start_length:
            list->start = bytes_unsigned(&list->at, 8);
            list->end = list->start + bytes_uleb(&list->at);
            break;
        default: /* the end, or nothing that is known */
            return false;
        }
        *expression = bytes_inside(&list->at, bytes_uleb(&list->at));
        return !list->at.failed;
    }
    return false;
}

/* The same of DWARF 2 to 4. */
static bool next_of_four(struct list *list, struct bytes *expression)
{
    for (unsigned read = 0; read < MAX_RANGES && !list->at.failed; read++) {
        uint64_t start = bytes_unsigned(&list->at, 8), end = bytes_unsigned(&list->at, 8);
        if (!start && !end)
            return false;
        if (start == UINT64_MAX) {
            list->base = end;
            continue;
        }
        list->start = list->base + start;
        list->end = list->base + end;
        *expression = bytes_inside(&list->at, bytes_unsigned(&list->at, 2));
        return !list->at.failed;
    }
    return false;
}

/* Looks for the expression that counts at the context's address in the list at OFFSET. */
static int search_list(struct location_context *context, uint64_t offset, struct bytes *expression)
{
    bool five = context->version >= 5;
    struct list list = {.context = context,
                        .at = debuginfo_section(context->debuginfo, five ? DEBUGINFO_LISTS : DEBUGINFO_OLD_LISTS)};
    struct bytes found;
    if (offset >= bytes_left(&list.at))
        return -EINVAL;
    bytes_take(&list.at, offset);
    dwarf_lowpc(&context->unit, &list.base); /* stays 0 where the unit has none */
    for (unsigned read = 0; read < MAX_RANGES && (five ? next_of_five : next_of_four)(&list, &found); read++) {
        bool covers = list.start <= context->address && context->address < list.end;
        /* An entry for no code at all counts before the first statement, whose effect has no code. */
        if (!covers && !(context->at_entry && list.start == context->address && list.end == list.start))
            continue;
        *expression = found;
        return 0;
    }
    return list.at.failed ? -EINVAL : -ERANGE;
}

/* Where the list begins that ATTRIBUTE names by its number among the unit's. */
static bool numbered_list(struct location_context *context, const Dwarf_Attribute *attribute, uint64_t *offset)
{
    struct bytes section = debuginfo_section(context->debuginfo, DEBUGINFO_LISTS);
    struct bytes entries = debuginfo_section(context->debuginfo, DEBUGINFO_ENTRIES);
    Dwarf_Word base;
    if (!debugentry_number(&context->unit, DW_AT_loclists_base, &base))
        base = context->offset_size == 8 ? 20 : 12;                     /* behind the header of the only table */
    if (attribute->valp < entries.at || attribute->valp >= entries.end) /* libdw's versions differ here */
        return false;
    bytes_take(&entries, (uint64_t)(attribute->valp - entries.at));
    uint64_t number = bytes_uleb(&entries);
    if (base > bytes_left(&section) || number >= (bytes_left(&section) - base) / context->offset_size)
        return false;
    bytes_take(&section, base + number * context->offset_size);
    *offset = base + bytes_unsigned(&section, context->offset_size);
    return !entries.failed;
}

int location_expression(struct location_context *context, Dwarf_Die *entry, unsigned name, struct bytes *expression,
                        bool *ranged)
{
    Dwarf_Attribute attribute;
    Dwarf_Block block;
    uint64_t offset;
    if (!dwarf_attr(entry, name, &attribute))
        return -ENODATA;
    *ranged = dwarf_formblock(&attribute, &block) != 0;
    if (!*ranged) {
        *expression = bytes_of(block.data, block.length);
        return block.length ? 0 : -ENODATA;
    }
    bool found = dwarf_whatform(&attribute) == DW_FORM_loclistx ? numbered_list(context, &attribute, &offset)
                                                                : !dwarf_formudata(&attribute, &offset);
    return found ? search_list(context, offset, expression) : -EINVAL;
}
