/* Finds an instruction behind a function's entry where a probe costs less. */
#include "probe/spec/slide.h"

#include "probe/spec/indirect_jumps.h"
#include "sys/cookie.h"

enum {
    MERGES = 64, /* bytes after which decoding falls into step, wherever it began, almost always */
};

static const char moved[] = "the function's first instruction would be stepped, at ten times the price";
static const char lossy[] = "calls that jump away before that are not seen (slide = \"lossy\")";
static const char off[] = SLIDE_PRICE " (slide = false)";
static const char unsized[] = SLIDE_PRICE ": the function's length is not known, nor the jumps into it";
static const char ending[] = SLIDE_PRICE ": no cheaper place sees every call";
static const char reached[] = SLIDE_PRICE ": other code jumps to the instruction after it";
static const char looped[] = SLIDE_PRICE ": a loop leads back to it before any cheaper place";
static const char tabled[] = SLIDE_PRICE ": a jump of its own, maybe to the instruction after it, is not understood";
static const char behind[] = "the kernel puts no probe on the function's first instruction";
static const char refused_off[] = "and slide = false keeps it from the next";
static const char refused_ending[] = "and behind it is no place that sees each call once";
static const char unreadable[] = SLIDE_PRICE ": the instructions after it cannot be decoded";

/* What the code around says of the function: where something leads to first, behind the entry. */
struct jumps {
    const struct slide_code *code;
    uint64_t first;
    bool unknown; /* it jumps nobody knows where, maybe to itself */
};

static void note_jump(struct jumps *jumps, uint64_t target)
{
    if ((int64_t)target > 0 && target < jumps->first)
        jumps->first = target;
}

/* Follows what may be a table of jumps at ADDRESS, of 4-byte distances from BASE, or, NULL, of 8-byte addresses. */
static void follow_table(struct jumps *jumps, uint64_t address, const uint64_t *base)
{
    const struct way_file *file = jumps->code->file;
    union {
        int32_t distances[256];
        uint64_t addresses[128];
    } table;
    size_t width = base ? sizeof *table.distances : sizeof *table.addresses, count = sizeof table / width;
    while (count == sizeof table / width) {
        count = file->read(file->context, address, &table, sizeof table) / width;
        for (size_t i = 0; i < count; i++) {
            uint64_t target = base ? *base + (uint64_t)(int64_t)table.distances[i] : table.addresses[i];
            if (!file->executable(file->context, target))
                return;
            note_jump(jumps, target - jumps->code->address);
        }
        address += sizeof table;
    }
}

/* jump_table_visit. */
static void follow_distances(uint64_t table, uint64_t base, void *context)
{
    follow_table(context, table, &base);
}

/* Follows the tables that the function's instructions mention, as those may lie in its own code. */
static void follow_tables(const struct arch_code *arch, struct jumps *jumps)
{
    const struct slide_code *code = jumps->code;
    const uint8_t *bytes = code->bytes + code->before;
    for (size_t at = 0; at < code->size && code->file;) {
        struct arch_instruction instruction;
        uint64_t address = code->address + at;
        if (!arch->decode(bytes + at, code->size - at, &instruction))
            return;
        address += (uint64_t)instruction.target;
        if (instruction.refers && !instruction.absolute)
            follow_table(jumps, address, &address);
        else if (instruction.indexed && instruction.absolute)
            follow_table(jumps, instruction.absolute, NULL);
        at += instruction.length;
    }
}

/* Whether a glance at the bytes FROM … TO of CODE shows that nothing in them leads to the function's first MOST ones.
 */
static bool leads_nowhere(const struct arch_code *arch, const struct slide_code *code, size_t from, size_t to,
                          size_t most)
{
    return arch->leads_nowhere(code->bytes + from, to - from, code->address + from - code->before, code->address + 1,
                               code->address + most + 1);
}

/*
 * The first place from FROM on, before END, that decoding CODE comes through wherever before FROM it began; END: none.
 * One of the ARCH_LONGEST places from FROM on begins an instruction: what all of these lead to does, too.
 */
static size_t in_step(const struct arch_code *arch, const struct slide_code *code, size_t from, size_t end)
{
    uint32_t places = 0; /* a bit for each place from AT on that may begin an instruction */
    for (unsigned i = 0; i < ARCH_LONGEST; i += arch->step)
        places |= UINT32_C(1) << i;
    size_t at = from;
    for (; at < end && places != 1; at += arch->step) {
        struct arch_instruction instruction;
        if (places & 1)
            places |= UINT32_C(1) << (arch->decode(code->bytes + at, end - at, &instruction) ? instruction.length
                                                                                             : arch->step);
        places >>= arch->step;
    }
    return at < end ? at : end;
}

/*
 * The first instruction from AT, one before the function, of those that may lead to its first MOST bytes, or one
 * somewhat before it; *GLANCED: where the bytes begin that a glance does not clear. Most of the code needs no more than
 * that.
 */
static size_t pass(const struct arch_code *arch, const struct slide_code *code, size_t at, size_t most, size_t *glanced)
{
    size_t clear = at;
    for (size_t part = code->before - at; part > MERGES; part /= 2) {
        size_t from = clear - at > ARCH_LONGEST ? clear - ARCH_LONGEST : at; /* one may lie across the end */
        if (part <= code->before - clear && leads_nowhere(arch, code, from, clear + part, most))
            clear += part;
    }
    *glanced = clear;
    if (clear == code->before || clear - at <= MERGES)
        return clear == code->before ? clear : at;
    size_t place = in_step(arch, code, clear - MERGES, clear);
    return place < clear ? place : at;
}

/* Finds what leads to the first MOST bytes of the function, and maybe what does to others. */
static struct jumps find_jumps(const struct arch_code *arch, const struct slide_code *code, size_t most)
{
    struct jumps jumps = {.code = code, .first = code->limit};
    size_t own_end = code->before + code->size, end = own_end + code->after;
    uint64_t jumps_by = 0;
    bool glanced = !arch->jumps_by_none(code->bytes + code->before, code->size);
    size_t at = 0, retry = 0;
    while (at < end) {
        struct arch_instruction instruction;
        if (at >= retry && at < code->before) {
            at = pass(arch, code, at, most, &retry);
            retry += MERGES;
            continue;
        }
        if (!glanced && at >= code->before + most && at < own_end) {
            glanced = true;
            at = leads_nowhere(arch, code, at, own_end, most) ? own_end : at;
            continue;
        }
        if (at == own_end && leads_nowhere(arch, code, own_end, end, most))
            break;
        if (!arch->decode(code->bytes + at, end - at, &instruction)) {
            at += arch->step; /* data, or the end: the next instructions fall into step again */
            continue;
        }
        if (instruction.refers && instruction.absolute)
            note_jump(&jumps, instruction.absolute - code->address);
        else if (instruction.direct || instruction.refers)
            note_jump(&jumps, (uint64_t)((int64_t)(at - code->before) + instruction.target));
        bool is_own = at >= code->before && at < code->before + code->size;
        jumps_by |= is_own ? instruction.jumps_by : 0;
        at += instruction.length;
    }
    if (jumps_by) {
        follow_tables(arch, &jumps);
        jumps.unknown = !indirect_jumps_known(arch, code, follow_distances, &jumps);
    }
    return jumps;
}

/* A place that the probe may slide to. */
struct slide_target {
    size_t at;      /* 0: none */
    struct way way; /* to it */
};

/* The first instruction of the function from FROM on that is emulated and that others lead to which surely end;
 * IS_LOSSY: behind conditional jumps, if there is one. Without one it is BEST. WAY leads to FROM. */
static struct slide_target find_candidate(const struct arch_code *arch, const struct slide_code *code, size_t from,
                                          struct way way, struct slide_target best, bool is_lossy, const char **why)
{
    const uint8_t *bytes = code->bytes + code->before;
    for (size_t at = from; at < code->size;) {
        struct arch_instruction instruction;
        struct arch_effect effect = {0};
        if (!arch->decode(bytes + at, code->size - at, &instruction)) {
            *why = unreadable;
            return best;
        }
        if (instruction.emulated && at > 0)
            best = (struct slide_target){at, way};
        *why = ending;
        if (instruction.emulated ? !is_lossy || !instruction.conditional
                                 : !arch->effect(bytes + at, code->size - at, &effect) ||
                                       !way_pass(&way, arch, &effect, code->address + at, code->file))
            return best;
        at += instruction.length;
    }
    *why = unreadable; /* it goes on beyond its end */
    return best;
}

/* Whether a probe can stand on INSTRUCTION, at AT of CODE, and is hit once where it is passed once. */
static bool can_stand(const struct arch_code *arch, const struct slide_code *code, size_t at,
                      const struct arch_instruction *instruction)
{
    struct arch_effect effect;
    if (instruction->refused || instruction->mistaken || instruction->replaced)
        return false;
    /* What goes round in itself would be hit at each round. */
    return instruction->emulated || instruction->returns || instruction->goes_by ||
           arch->effect(code->bytes + code->before + at, code->size - at, &effect);
}

/*
 * Behind the function's first instruction, on which the kernel puts no probe, and others of its kind. They may fault:
 * nobody knows of the memory that they read or write.
 */
static struct slide_target find_behind(const struct arch_code *arch, const struct slide_code *code)
{
    struct slide_target next = {0}, none = {0};
    const uint8_t *bytes = code->bytes + code->before;
    struct arch_instruction instruction;
    struct arch_effect effect;
    way_begin(&next.way);
    do {
        if (!arch->decode(bytes + next.at, code->size - next.at, &instruction) ||
            !arch->effect(bytes + next.at, code->size - next.at, &effect) || !effect.opaque)
            return none;
        way_pass_opaque(&next.way, &effect);
        next.at += instruction.length;
        if (next.at >= code->size || !arch->decode(bytes + next.at, code->size - next.at, &instruction))
            return none;
    } while (!can_stand(arch, code, next.at, &instruction));
    return next;
}

/* Whether a probe at CANDIDATE sees nothing but calls. */
static bool is_entered_at_entry_only(const struct slide_target *candidate, const struct jumps *jumps)
{
    return candidate->at < jumps->first && candidate->at < jumps->code->marked && !jumps->unknown;
}

/* Why a probe does not stand at CANDIDATE, which is cheaper than the entry. */
static const char *why_not(const struct slide_target *candidate, const struct jumps *jumps)
{
    if (candidate->at < jumps->first && jumps->unknown)
        return tabled;
    return candidate->at < jumps->first && candidate->at >= jumps->code->marked ? looped : reached;
}

static void settle(const struct arch_code *arch, const struct slide_target *target, const char *why,
                   struct slide_place *place)
{
    if (target->at > COOKIE_SLID_MASK) {
        place->why = ending; /* none that a program's cookie can tell */
        return;
    }
    place->distance = (unsigned)target->at;
    place->wrote = target->way.wrote;
    place->count = way_values(&target->way, arch, place->values);
    place->why = why;
}

void slide_find(const struct arch_code *arch, const struct slide_code *code, enum slide slide,
                struct slide_place *place)
{
    struct arch_instruction first;
    const char *ignored;
    *place = (struct slide_place){0};
    if (!arch->decode(code->bytes + code->before, code->size + code->after, &first))
        return;
    if (first.emulated && !(slide == SLIDE_LOSSY && first.conditional))
        return;
    if (slide == SLIDE_OFF || !code->size) {
        place->why = slide == SLIDE_OFF ? first.passable ? refused_off : off
                     : first.passable   ? refused_ending
                                        : unsized;
        return;
    }
    place->why = first.passable ? refused_ending : NULL;
    struct slide_target exact = {0}, next = {0}, none = {0};
    struct way way;
    way_begin(&way);
    if (first.passable)
        next = find_behind(arch, code);
    if (next.at) /* or further on, where it is emulated */
        exact = find_candidate(arch, code, next.at, next.way, next, false, &ignored);
    else if (!first.passable && !first.emulated)
        exact = find_candidate(arch, code, 0, way, none, false, &place->why);
    struct slide_target far =
        slide == SLIDE_LOSSY && !first.passable ? find_candidate(arch, code, 0, way, none, true, &ignored) : exact;
    if (!exact.at && !far.at)
        return;
    size_t most = far.at > exact.at ? far.at : exact.at;
    struct jumps jumps = find_jumps(arch, code, most);
    if (far.at > exact.at && is_entered_at_entry_only(&far, &jumps)) {
        settle(arch, &far, lossy, place);
        return;
    }
    if (next.at && !is_entered_at_entry_only(&exact, &jumps))
        exact = next;
    if (!first.passable)
        place->why = first.emulated ? NULL : why_not(&exact, &jumps);
    if (exact.at && is_entered_at_entry_only(&exact, &jumps))
        settle(arch, &exact, first.passable ? behind : moved, place);
}
