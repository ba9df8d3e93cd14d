/* Which functions of a file call each other: their code is followed from function to function. */
#include "probe/spec/calls_within.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "arch/instruction.h"
#include "base/array.h"
#include "probe/module/binary.h"
#include "probe/module/loader_slots.h"
#include "probe/spec/resolve.h"
#include "unwind/call_frames.h"

enum {
    MOST_CODE = 64 << 10,        /* bytes of a function; a longer one is not followed */
    MOST_INSTRUCTIONS = 1 << 18, /* of all that are followed */
    NOWHERE = UINT32_MAX,
    STUB = 32, /* bytes of a stub of the procedure linkage table, and more */
};

/* A call, or a jump, from one part to another. */
struct lead {
    uint64_t at; /* the instruction's address */
    uint32_t to; /* NOWHERE: a function in another file that has one of the names that were asked for */
    bool jumps;
};

/* A stretch of code that call frame information describes: a function, or what of one lies elsewhere. */
struct part {
    bool decoded;
    bool unclear;  /* it cannot be decoded */
    bool finds;    /* it asks the loader for functions by their names */
    bool pointers; /* it calls what a variable points to */
    bool wanted;   /* one of those that were asked for begins here */
    unsigned seen; /* number of the search that has reached it last, … */
    unsigned away; /* … by so many calls */
    struct lead *leads;
    size_t lead_count, lead_capacity;
};

struct follower {
    const struct calls_wanted *wanted;
    const struct binary *binary;
    struct call_frames frames;
    struct part *parts; /* one for each of their FDEs */
    struct loader_slots slots;
    uint32_t *reached; /* parts that a search has reached, as often as it has leads at most */
    size_t reached_count, reached_capacity;
    size_t instructions; /* that have been decoded */
    struct calls_found *found;
    bool exhausted; /* there is no memory */
};

static struct part *part_at(const struct follower *follower, uint64_t address)
{
    const struct fde *fdes = follower->frames.fdes;
    size_t i = array_up_to(fdes, follower->frames.fde_count, sizeof *fdes, address);
    return i && address < fdes[i - 1].end ? &follower->parts[i - 1] : NULL;
}

/* --- calls by slots --- */

static bool is_wanted_name(const struct follower *follower, const char *name)
{
    for (size_t i = 0; i < follower->wanted->name_count; i++)
        if (!strcmp(follower->wanted->names[i], name))
            return true;
    return false;
}

/* TO: NULL: nowhere in this file. */
static void add_lead(struct follower *follower, struct part *part, const struct part *to, struct lead lead)
{
    lead.to = to ? (uint32_t)(to - follower->parts) : NOWHERE;
    if (!array_room(&part->leads, part->lead_count, &part->lead_capacity, sizeof *part->leads))
        follower->exhausted = true;
    else
        part->leads[part->lead_count++] = lead;
}

/* LEAD of PART is to what the word at ADDRESS points to. False: the word is a variable that nobody fills before. */
static bool note_slot(struct follower *follower, struct part *part, uint64_t address, struct lead lead)
{
    const char *name;
    uint64_t target;
    if (!loader_slots_find(&follower->slots, address, &name, &target))
        return false;
    const struct part *to = target ? part_at(follower, target) : NULL;
    part->finds |= name && (!strcmp(name, "dlsym") || !strcmp(name, "dlvsym"));
    if (to || (name && is_wanted_name(follower, name)))
        add_lead(follower, part, to, lead);
    return true;
}

/* LEAD of PART, which begins at START, is to the fixed place TARGET. */
static void note_target(struct follower *follower, struct part *part, uint64_t start, uint64_t target, struct lead lead)
{
    uint8_t stub[STUB];
    uint64_t offset, slot;
    uint32_t index;
    const struct part *to = part_at(follower, target);
    if (to != part && binary_offset(follower->binary, target, &offset) == 0) {
        size_t size = binary_read(follower->binary, offset, stub, sizeof stub);
        if (arch_stub(stub, size, target, &slot, &index) == ARCH_STUB_SLOT) {
            note_slot(follower, part, slot, lead);
            return;
        }
    }
    if (to && (to != part || (!lead.jumps && target == start)))
        add_lead(follower, part, to, lead);
}

/* --- parts --- */

static void note_instructions(struct follower *follower, struct part *part, const uint8_t *code, size_t size,
                              uint64_t start)
{
    const struct arch_code *arch = arch_code();
    uint64_t jumps_by = 0, computes = 0, fetched = 0;
    for (size_t at = 0; at < size; follower->instructions++) {
        struct arch_instruction instruction;
        if (!arch->decode(code + at, size - at, &instruction)) {
            part->unclear = true; /* data, maybe */
            return;
        }
        uint64_t target = start + at + (uint64_t)instruction.target;
        struct lead lead = {.at = start + at, .jumps = !instruction.calls};
        if (instruction.direct && (instruction.calls || target < start || target >= start + size))
            note_target(follower, part, start, target, lead);
        else if (instruction.by_variable)
            part->pointers |= !note_slot(follower, part, target, lead);
        fetched |= instruction.fetches;
        part->pointers |= instruction.goes_by & fetched && !instruction.by_variable;
        jumps_by |= instruction.jumps_by;
        computes |= instruction.computes;
        at += instruction.length;
    }
    part->pointers |= (jumps_by & ~computes) != 0;
}

static void decode_part(struct follower *follower, struct part *part)
{
    const struct fde *fde = &follower->frames.fdes[part - follower->parts];
    uint64_t size = fde->end - fde->start, offset;
    part->decoded = true;
    part->unclear = size > MOST_CODE || follower->instructions > MOST_INSTRUCTIONS ||
                    binary_offset(follower->binary, fde->start, &offset) < 0;
    uint8_t *code = part->unclear ? NULL : malloc(size);
    if (code && binary_read(follower->binary, offset, code, size) == size)
        note_instructions(follower, part, code, size, fde->start);
    else
        part->unclear = true;
    free(code);
}

/* --- searches --- */

/* A search reaches PART by AWAY calls. */
static void reach(struct follower *follower, struct part *part, unsigned search, unsigned away)
{
    if (part->seen == search && part->away <= away)
        return;
    part->seen = search;
    part->away = away;
    if (!array_room(&follower->reached, follower->reached_count, &follower->reached_capacity,
                    sizeof *follower->reached))
        follower->exhausted = true;
    else
        follower->reached[follower->reached_count++] = (uint32_t)(part - follower->parts);
}

/* Notes the place AT among those that are far from the functions that lead there. */
static void add_far(struct follower *follower, uint64_t at)
{
    struct calls_found *found = follower->found;
    for (size_t i = 0; i < found->far_count; i++)
        if (found->far[i] == at)
            return;
    if (found->far_count < CALLS_MOST_FAR)
        found->far[found->far_count++] = at;
}

/* Follows what leads on from PART in the search NUMBER, which has begun with FIRST. True: close to a function that is
 * wanted, or, FAR, to one. */
static bool lead_on(struct follower *follower, const struct part *part, const struct part *first, unsigned number,
                    bool far)
{
    const bool is_far = part->away > CALLS_NEAR;
    for (size_t i = 0; i < part->lead_count; i++) {
        const struct lead *lead = &part->leads[i];
        struct part *to = lead->to == NOWHERE ? NULL : &follower->parts[lead->to];
        unsigned away = part->away + !lead->jumps;
        if (!to || (to->wanted && (to != first || !lead->jumps))) {
            if (!is_far)
                return true;
            if (far)
                add_far(follower, lead->at);
        } else if (away <= (far ? CALLS_FAR : CALLS_NEAR)) {
            reach(follower, to, number, away);
        }
    }
    return false;
}

/* What the function that begins with FIRST calls of those that are wanted; FAR: notes what is far away besides. */
static enum calls_within search(struct follower *follower, struct part *first, unsigned number, bool far)
{
    enum calls_within result = CALLS_NONE;
    follower->reached_count = 0;
    reach(follower, first, number, 0);
    for (size_t i = 0; i < follower->reached_count; i++) {
        struct part *part = &follower->parts[follower->reached[i]];
        if (!part->decoded)
            decode_part(follower, part);
        if (lead_on(follower, part, first, number, far))
            return CALLS_OTHERS;
        if (part->unclear && part->away <= CALLS_NEAR)
            result = CALLS_UNCLEAR;
        if (result == CALLS_NONE && ((part->pointers && !part->away) || (part->finds && part->away <= CALLS_NEAR)))
            result = CALLS_POINTERS;
    }
    return result;
}

/* The part that begins where the file has OFFSET; NULL: none does. */
static struct part *part_of(const struct follower *follower, uint64_t offset)
{
    const struct elf_file *elf = binary_elf(follower->binary);
    for (size_t i = 0; i < elf->segment_count; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || offset < segment->p_offset ||
            offset - segment->p_offset >= segment->p_filesz)
            continue;
        uint64_t address = segment->p_vaddr + (offset - segment->p_offset);
        struct part *part = part_at(follower, address);
        return part && follower->frames.fdes[part - follower->parts].start == address ? part : NULL;
    }
    return NULL;
}

static void search_all(struct follower *follower)
{
    const struct calls_wanted *wanted = follower->wanted;
    unsigned number = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        struct part *part = part_of(follower, wanted->offsets[i]);
        if (part)
            part->wanted = true;
    }
    for (size_t i = 0; i < wanted->count; i++) {
        struct part *part = part_of(follower, wanted->offsets[i]);
        enum calls_within *calls = &follower->found->calls[i];
        if (part)
            *calls = search(follower, part, ++number, false);
        if (*calls == CALLS_NONE || *calls == CALLS_POINTERS)
            search(follower, part, ++number, true);
    }
}

static int find_calls(const struct module *module, const struct calls_wanted *wanted, struct calls_found *found)
{
    struct binary *binary;
    struct follower follower = {.wanted = wanted, .found = found};
    if (binary_open(module, &binary, NULL) < 0)
        return 0;
    follower.binary = binary;
    int result = call_frames_read(&follower.frames, binary_elf(binary), NULL, NULL);
    if (result == 0) {
        follower.parts = calloc(follower.frames.fde_count + 1, sizeof *follower.parts);
        loader_slots_read(&follower.slots, binary_elf(binary));
        if (follower.parts)
            search_all(&follower);
        for (size_t i = 0; follower.parts && i < follower.frames.fde_count; i++)
            free(follower.parts[i].leads);
        result = follower.parts && !follower.exhausted ? 0 : -ENOMEM;
        loader_slots_free(&follower.slots);
        call_frames_free(&follower.frames);
    }
    free(follower.parts);
    free(follower.reached);
    binary_close(binary);
    return result == -ENOMEM ? result : 0;
}

int calls_within(const char *module, const struct calls_wanted *wanted, const struct target *target,
                 struct calls_found *found, struct error *err)
{
    struct spec spec = {.text = (char *)module, .binary = (char *)module};
    struct modules modules = {0};
    int result = resolve_binaries(&spec, target, &modules, err);
    found->far_count = 0;
    for (size_t i = 0; i < wanted->count; i++)
        found->calls[i] = CALLS_UNCLEAR;
    if (result == 0 && modules.count && (result = find_calls(&modules.items[0], wanted, found)) < 0)
        error_set(err, result, "out of memory");
    if (result < 0)
        error_make_printable(err);
    modules_free(&modules);
    return result;
}
