/* Finds an instruction behind a function's entry where a probe costs less. */
#include "probe/spec/slide.h"

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
static const char unreadable[] = SLIDE_PRICE ": the instructions after it cannot be decoded";

/* What the code around says of the function: where something leads to first, behind the entry. */
struct jumps {
    uint64_t first;
    bool table; /* it jumps by a table that is not known, maybe to itself */
};

static void note_jump(struct jumps *jumps, uint64_t target)
{
    if ((int64_t)target > 0 && target < jumps->first)
        jumps->first = target;
}

/*
 * Follows what may be a table of jumps at ADDRESS, of 8-byte addresses, or of 4-byte distances from itself. True if it
 * begins with a place in the function.
 */
static bool follow_table(const struct slide_code *code, uint64_t address, bool distances, struct jumps *jumps)
{
    enum { MOST_ENTRIES = 1024 };
    union {
        int32_t distances[MOST_ENTRIES];
        uint64_t addresses[MOST_ENTRIES];
    } table;
    size_t width = distances ? sizeof *table.distances : sizeof *table.addresses;
    size_t count = code->file->read(code->file->context, address, &table, MOST_ENTRIES * width) / width;
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        uint64_t target = distances ? address + (uint64_t)(int64_t)table.distances[i] : table.addresses[i];
        if (!code->file->executable(code->file->context, target))
            break;
        found |= i == 0 && target - code->address < code->size;
        note_jump(jumps, target - code->address);
    }
    return found;
}

/* Follows the tables that the function's instructions mention. True if there are some. */
static bool follow_tables(const struct arch_code *arch, const struct slide_code *code, struct jumps *jumps)
{
    const uint8_t *bytes = code->bytes + code->before;
    bool found = false;
    for (size_t at = 0; at < code->size && code->file;) {
        struct arch_instruction instruction;
        if (!arch->decode(bytes + at, code->size - at, &instruction))
            return false;
        if (instruction.refers && !instruction.absolute)
            found |= follow_table(code, code->address + at + (uint64_t)instruction.target, true, jumps);
        else if (instruction.indexed && instruction.absolute)
            found |= follow_table(code, instruction.absolute, false, jumps);
        at += instruction.length;
    }
    return found;
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
    struct jumps jumps = {.first = code->limit};
    size_t own_end = code->before + code->size, end = own_end + code->after;
    uint64_t jumps_by = 0, computes = 0;
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
        computes |= is_own ? instruction.computes : 0;
        at += instruction.length;
    }
    /* A jump to where a register says that nothing has been computed into is a call of another function, the last
     * one. */
    jumps.table = jumps_by & computes && !follow_tables(arch, code, &jumps);
    return jumps;
}

/* A place that the probe may slide to. */
struct slide_target {
    size_t at; /* 0: none */
    bool push;
    struct way way; /* to it */
};

/* The first instruction of the function that is emulated and that others lead to which surely end; IS_LOSSY: behind
 * conditional jumps, if there is one. */
static struct slide_target find_candidate(const struct arch_code *arch, const struct slide_code *code, bool is_lossy,
                                          const char **why)
{
    struct slide_target best = {0};
    struct way way;
    const uint8_t *bytes = code->bytes + code->before;
    way_begin(&way);
    for (size_t at = 0; at < code->size;) {
        struct arch_instruction instruction;
        struct arch_effect effect = {0};
        if (!arch->decode(bytes + at, code->size - at, &instruction)) {
            *why = unreadable;
            return best;
        }
        if (instruction.emulated && at > 0)
            best = (struct slide_target){at, instruction.push, way};
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

/* Whether a probe at CANDIDATE sees nothing but calls. */
static bool is_entered_at_entry_only(const struct slide_target *candidate, const struct jumps *jumps)
{
    /* What pushes would push once more if it were jumped to by a table of the function's own: that is not how a loop
     * begins. */
    return candidate->at < jumps->first && (!jumps->table || candidate->push);
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
        place->why = slide == SLIDE_OFF ? off : unsized;
        return;
    }
    struct slide_target exact = {0};
    if (!first.emulated)
        exact = find_candidate(arch, code, false, &place->why);
    struct slide_target far = slide == SLIDE_LOSSY ? find_candidate(arch, code, true, &ignored) : exact;
    if (!exact.at && !far.at)
        return;
    struct jumps jumps = find_jumps(arch, code, far.at > exact.at ? far.at : exact.at);
    if (far.at > exact.at && is_entered_at_entry_only(&far, &jumps)) {
        settle(arch, &far, lossy, place);
        return;
    }
    place->why = first.emulated ? NULL : reached;
    if (exact.at && is_entered_at_entry_only(&exact, &jumps))
        settle(arch, &exact, moved, place);
}
