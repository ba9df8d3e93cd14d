/* aarch64's instructions: Arm Architecture Reference Manual for A-profile, C4.1. */
#include <string.h>

#include "arch/instruction.h"

/* Instructions of which only the bits of MASK are fixed. */
struct encoding {
    uint32_t mask, bits;
};

static bool is_one_of(uint32_t word, const struct encoding *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((word & list[i].mask) == list[i].bits)
            return true;
    return false;
}

/* BITS from bit FROM on, with a sign, in words. */
static int64_t distance(uint32_t word, unsigned from, unsigned bits)
{
    int64_t value = word >> from & ((UINT32_C(1) << bits) - 1), sign = INT64_C(1) << (bits - 1);
    return ((value ^ sign) - sign) * 4;
}

/* Fills in where WORD jumps to, if that is a fixed place. */
static void find_target(uint32_t word, struct arch_instruction *result)
{
    result->direct = true;
    result->conditional = true;
    if ((word & 0x7c000000) == 0x14000000) { /* b, bl */
        result->target = distance(word, 0, 26);
        result->conditional = false;
    } else if ((word & 0xff000010) == 0x54000000 || (word & 0x7e000000) == 0x34000000) { /* b.cond, cbz, cbnz */
        result->target = distance(word, 5, 19);
    } else if ((word & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
        result->target = distance(word, 5, 14);
    } else {
        result->direct = result->conditional = false;
    }
}

/* What arch/arm64/kernel/probes/decode-insn.c simulates, beside jumps to fixed places. (The nop too, but only
 * since 6.14.) */
static bool is_simulated(uint32_t word)
{
    static const struct encoding list[] = {
        {0x1f000000, 0x10000000}, /* adr, adrp */
        {0xffdffc1f, 0xd61f0000}, /* br, blr … */
        {0xfffffc1f, 0xd65f0000}, /* … and ret, without pointer authentication */
    };
    return is_one_of(word, list, sizeof list / sizeof *list);
}

/* nop, bti, xpaclri and what signs the return address; other hints, such as autiasp, wait or check. */
static bool is_steppable_hint(uint32_t word)
{
    static const struct encoding list[] = {
        {0xffffffff, 0xd503201f}, /* nop */
        {0xffffff3f, 0xd503241f}, /* bti */
        {0xffffffff, 0xd50320ff}, /* xpaclri */
        {0xffffffbf, 0xd503211f}, /* pacia1716, pacib1716 */
        {0xffffff9f, 0xd503231f}, /* paciaz, paciasp, pacibz, pacibsp */
    };
    return is_one_of(word, list, sizeof list / sizeof *list);
}

/*
 * Loads relative to the pc. The kernel simulated those into general registers as if its own memory were meant
 * (until 6.12 and its stable predecessors, which refuse them: CVE-2024-50099); those into vector registers it steps out
 * of line, where another literal lies.
 */
static bool is_literal(uint32_t word)
{
    static const struct encoding list[] = {
        {0xbf000000, 0x18000000}, /* ldr */
        {0xbf000000, 0x98000000}, /* ldrsw, prfm */
        {0x3f000000, 0x1c000000}, /* ldr into a vector register */
    };
    return is_one_of(word, list, sizeof list / sizeof *list);
}

/* ldxr, ldaxr, ldxp, ldaxp and their stores; not casp, which has a bit pattern among them. */
static bool is_exclusive(uint32_t word, bool load)
{
    static const struct encoding pair_swap = {0xbfa07c00, 0x08207c00};
    return (word & 0x3fc00000) == (load ? 0x08400000 : 0x08000000) && !is_one_of(word, &pair_swap, 1);
}

/* What the kernel (ibid.) neither simulates nor steps out of line. */
static bool is_refused(uint32_t word)
{
    static const struct encoding list[] = {
        {0x3f800000, 0x08000000}, /* exclusive loads and stores: stepped, they would never succeed */
        {0xff000000, 0xd4000000}, /* svc, brk … */
        {0xfe000000, 0xd6000000}, /* braa, retaa, eret … */
        {0xfff00000, 0xd5100000}, /* msr of a register */
        {0xfff8f01f, 0xd500401f}, /* msr of a constant */
        {0xfffff01f, 0xd503201f}, /* hints */
    };
    return is_one_of(word, list, sizeof list / sizeof *list) && !is_simulated(word) && !is_steppable_hint(word);
}

/* --- what instructions change --- */

enum { SP = 31, FLAGS = 33 }; /* their numbers in struct user_pt_regs; where an instruction has 31, it may mean zero */

static uint64_t bit(unsigned number)
{
    return UINT64_C(1) << number;
}

/* COUNT bits of WORD from bit FROM on. */
static unsigned field(uint32_t word, unsigned from, unsigned count)
{
    return word >> from & ((1u << count) - 1);
}

/* add, sub, and, orr, eor, movz, ubfm … with a constant. */
static bool immediate_effect(uint32_t word, struct arch_effect *effect)
{
    unsigned to = field(word, 0, 5), kind = field(word, 23, 3);
    bool is_add = kind == 2, is_logical = kind == 4, sets_flags = word >> 29 & 1, wide = word >> 31;
    if (kind < 2 || kind == 3) /* adr, which is emulated; with tags of memory */
        return false;
    bool may_be_sp = (is_add && !sets_flags) || (is_logical && field(word, 29, 2) != 3);
    effect->changes = bit(FLAGS) | (to < 31 || may_be_sp ? bit(to) : 0);
    if (is_add && wide && effect->changes & bit(to) && !(to == SP && sets_flags)) {
        int64_t constant = (int64_t)field(word, 10, 12) << (word >> 22 & 1 ? 12 : 0);
        effect->follows = true;
        effect->to = (uint8_t)to;
        effect->from = (uint8_t)field(word, 5, 5);
        effect->plus = word >> 30 & 1 ? -constant : constant;
    }
    return true;
}

/* What computes with registers. */
static bool register_effect(uint32_t word, struct arch_effect *effect)
{
    static const struct encoding list[] = {
        {0x1f000000, 0x0a000000}, /* and, bic, orr … */
        {0x1f200000, 0x0b000000}, /* add, sub of a shifted … */
        {0x1fe00000, 0x0b200000}, /* … and an extended register */
        {0x1fe0fc00, 0x1a000000}, /* adc, sbc */
        {0x3fe00410, 0x3a400000}, /* ccmp, ccmn */
        {0x3fe00800, 0x1a800000}, /* csel … */
        {0x7fe0f800, 0x1ac00800}, /* udiv, sdiv, which do not trap */
        {0x7fe0f000, 0x1ac02000}, /* lsl, lsr, asr, ror */
        {0x7ffff800, 0x5ac00000}, /* rbit, rev16 … */
        {0x7ffff800, 0x5ac00800}, /* rev, rev32 … */
        {0x7ffff800, 0x5ac01000}, /* clz, cls */
        {0x7fe00000, 0x1b000000}, /* madd, msub */
        {0xff600000, 0x9b200000}, /* smaddl, umaddl … */
        {0xff60fc00, 0x9b407c00}, /* smulh, umulh */
    };
    unsigned to = field(word, 0, 5);
    bool extends = (word & 0x1fe00000) == 0x0b200000, compares = (word & 0x3fe00410) == 0x3a400000;
    if (!is_one_of(word, list, sizeof list / sizeof *list))
        return false;
    effect->changes = bit(FLAGS) | (!compares && (to < 31 || (extends && !(word >> 29 & 1))) ? bit(to) : 0);
    if ((word & 0xffe0ffe0) == 0xaa0003e0 && to < 31 && field(word, 16, 5) < 31) { /* mov */
        effect->follows = true;
        effect->to = (uint8_t)to;
        effect->from = (uint8_t)field(word, 16, 5);
    }
    return true;
}

/* The register NUMBER is loaded or stored, whole or not. */
static void note_transfer(struct arch_effect *effect, unsigned number, bool vector, bool whole)
{
    bool is_register = number < 31 && !vector;
    if (!effect->writes && is_register)
        effect->changes |= bit(number);
    effect->words[effect->word_count++] = is_register && whole ? (uint8_t)number : ARCH_WORDS;
}

/* The register that addresses memory goes on by DISTANCE bytes: before the access or behind it. */
static void write_back(struct arch_effect *effect, bool before, int64_t distance)
{
    effect->offset = before ? distance : 0;
    effect->changes |= bit(effect->base);
    effect->follows = true;
    effect->to = effect->from = effect->base;
    effect->plus = distance;
}

/* ldr, str and what is like them. */
static bool single_effect(uint32_t word, struct arch_effect *effect)
{
    bool vector = word >> 26 & 1, scaled = (word & 0x3b000000) == 0x39000000;
    unsigned log = field(word, 30, 2), operation = field(word, 22, 2), mode = field(word, 10, 2);
    if (!scaled && ((word & 0x3b200000) != 0x38000000 || mode == 2))
        return false;
    if (!vector && log == 3 && operation >= 2)
        return operation == 2 && (scaled || mode == 0); /* prfm */
    if (vector && operation >= 2)
        log = log == 0 ? 4 : 5;
    if (log > 4)
        return false;
    effect->memory = MEMORY_BASED;
    effect->base = (uint8_t)field(word, 5, 5);
    effect->size = 1u << log;
    effect->writes = operation == 0 || (vector && operation == 2);
    effect->offset = (int64_t)field(word, 10, 12) << log;
    note_transfer(effect, field(word, 0, 5), vector, log == 3);
    if (!scaled) {
        effect->offset = distance(word, 12, 9) / 4;
        if (mode)
            write_back(effect, mode == 3, effect->offset);
    }
    return true;
}

/* ldp, stp. */
static bool pair_effect(uint32_t word, struct arch_effect *effect)
{
    bool vector = word >> 26 & 1, loads = word >> 22 & 1;
    unsigned kind = field(word, 30, 2), mode = field(word, 23, 2), log = vector ? 2 + kind : kind == 2 ? 3 : 2;
    if ((word & 0x3a000000) != 0x28000000 || kind == 3 || (!vector && kind == 1 && !loads))
        return false;
    effect->memory = MEMORY_BASED;
    effect->base = (uint8_t)field(word, 5, 5);
    effect->size = 2u << log;
    effect->writes = !loads;
    effect->offset = distance(word, 15, 7) / 4 * (INT64_C(1) << log);
    note_transfer(effect, field(word, 0, 5), vector, log == 3);
    note_transfer(effect, field(word, 10, 5), vector, log == 3);
    if (mode & 1)
        write_back(effect, mode == 3, effect->offset);
    return true;
}

static bool effect(const uint8_t *code, size_t size, struct arch_effect *effect)
{
    uint32_t word;
    *effect = (struct arch_effect){0};
    if (size < sizeof word)
        return false;
    memcpy(&word, code, sizeof word);
    if (is_steppable_hint(word)) {
        bool is_harmless = word == 0xd503201f || (word & 0xffffff3f) == 0xd503241f; /* nop, bti */
        effect->changes = is_harmless ? 0 : bit(17) | bit(30);                      /* one of them is signed, or not */
        return true;
    }
    if ((word & 0x1c000000) == 0x10000000)
        return immediate_effect(word, effect);
    if ((word & 0x0e000000) == 0x0a000000)
        return register_effect(word, effect);
    return single_effect(word, effect) || pair_effect(word, effect);
}

static bool decode(const uint8_t *code, size_t size, struct arch_instruction *result)
{
    uint32_t word;
    if (size < sizeof word)
        return false;
    memcpy(&word, code, sizeof word);
    *result = (struct arch_instruction){.length = sizeof word};
    find_target(word, result);
    result->emulated = result->direct || is_simulated(word);
    result->refused = is_refused(word) || is_literal(word);
    result->mistaken = is_literal(word) ? "the kernel does not load this constant from where it lies" : NULL;
    result->landing_pad = (word & 0xffffff3f) == 0xd503241f; /* bti */
    result->nop = word == 0xd503201f;
    result->returns = (word & 0xfffffc1f) == 0xd65f0000 || (word & 0xfffffbff) == 0xd65f0bff; /* ret, retaa and retab */
    result->calls = (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000;   /* bl, blr */
    result->jumps_by = (word & 0xfffffc1f) == 0xd61f0000 ? bit(field(word, 5, 5)) : 0;
    result->goes_by =
        is_simulated(word) && (word & 0xff9ffc1f) == 0xd61f0000 ? bit(field(word, 5, 5)) : 0; /* br, blr */
    result->fetches = (word & 0xffc00000) == 0xf9400000 ? bit(field(word, 0, 5)) : 0;         /* ldr of a word */
    result->indexed = (word & 0x3b200c00) == 0x38200800;      /* ldr with a register for the offset */
    if (result->indexed || (word & 0x0e000000) == 0x0a000000) /* what computes with registers */
        result->computes = bit(field(word, 0, 5));
    if ((word & 0x9f000000) == 0x10000000) { /* adr */
        result->refers = true;
        result->target = distance(word, 5, 19) + field(word, 29, 2);
    }
    return true;
}

/* Tables of distances are not told from other sums: they are of bytes, and from another place than their own. */
static bool flow(const uint8_t *code, size_t size, struct arch_flow *flow)
{
    static const struct encoding loads[] = {
        {0xffc00000, 0xf9400000}, /* ldr of a word: at a constant distance, … */
        {0xffe00000, 0xf8400000}, /* … the same, maybe with a step of the base, … */
        {0xffe00c00, 0xf8600800}, /* … at that of a register */
    };
    const uint64_t kept = UINT64_C(0x7ff) << 19 | bit(SP); /* by callees: x19 … x29, sp */
    struct arch_instruction jump = {0};
    struct arch_effect effected;
    uint32_t word;
    *flow = (struct arch_flow){.to = ARCH_WORDS, .from = ARCH_WORDS, .index = ARCH_WORDS};
    if (size < sizeof word)
        return false;
    memcpy(&word, code, sizeof word);
    find_target(word, &jump);
    flow->to = (uint8_t)field(word, 0, 5);
    if ((word & 0xfc000000) == 0x94000000 || (word & 0xfffff000) == 0xd63f0000) { /* bl, blr */
        flow->kind = FLOW_CALL;
        flow->changes = ~kept;
    } else if ((word & 0xfffffc1f) == 0xd61f0000 || (word & 0xfefff000) == 0xd61f0000) { /* br, braa … */
        flow->jumps = true;
        flow->from = (uint8_t)field(word, 5, 5);
    } else if (is_one_of(word, loads, sizeof loads / sizeof *loads)) {
        flow->kind = FLOW_POINTER;
        flow->from = (uint8_t)field(word, 5, 5);
        flow->changes = bit(flow->to);
        if ((word & 0x01200400) == 0x400) /* the base goes on */
            flow->changes |= bit(flow->from);
    } else if ((word & 0x1f000000) == 0x10000000) { /* adr, adrp */
        flow->changes = bit(flow->to);
    } else if (!jump.direct) {
        bool known = effect(code, size, &effected);
        bool is_copy = known && effected.follows && !effected.plus && (word & 0xffe0ffe0) == 0xaa0003e0;
        flow->kind = is_copy ? FLOW_COPY : FLOW_OTHER;
        flow->from = is_copy ? effected.from : ARCH_WORDS;
        flow->changes = known ? effected.changes : UINT64_MAX;
    }
    return true;
}

/* --- how a walk finds the caller --- */

enum { FRAME = 29, LINK = 30 };

static enum arch_base base_of(unsigned number)
{
    return number == SP ? BASE_STACK : number == FRAME ? BASE_FRAME : BASE_NONE;
}

/* What register NUMBER holds after what has EFFECT. */
static struct arch_pointer pointer_after(const struct arch_effect *effect, unsigned number)
{
    if (effect->follows && effect->to == number && base_of(effect->from))
        return (struct arch_pointer){POINTER_MOVED, {base_of(effect->from), effect->plus}};
    for (unsigned i = 0; i < effect->word_count && !effect->writes; i++)
        if (effect->words[i] == number && base_of(effect->base))
            return (struct arch_pointer){POINTER_LOADED, {base_of(effect->base), effect->offset + 8 * (int64_t)i}};
    return (struct arch_pointer){effect->changes & bit(number) ? POINTER_LOST : POINTER_KEPT, {BASE_NONE, 0}};
}

/* Whether WORD sets the frame pointer to 0: by movz, or from xzr. */
static bool zeroes_frame(uint32_t word)
{
    return word == (0xd2800000 | FRAME) || word == (0xaa1f03e0 | FRAME);
}

/* Where what has EFFECT puts register NUMBER. */
static struct arch_place place_kept(const struct arch_effect *effect, unsigned number)
{
    for (unsigned i = 0; i < effect->word_count && effect->writes; i++)
        if (effect->words[i] == number && base_of(effect->base))
            return (struct arch_place){base_of(effect->base), effect->offset + 8 * (int64_t)i};
    return (struct arch_place){BASE_NONE, 0};
}

static bool stack_effect(const uint8_t *code, size_t size, struct arch_stack_effect *effect)
{
    struct arch_instruction instruction;
    struct arch_effect effected;
    uint32_t word;
    *effect = (struct arch_stack_effect){0};
    if (!decode(code, size, &instruction))
        return false;
    memcpy(&word, code, sizeof word);
    effect->length = instruction.length;
    effect->nop = instruction.nop;
    effect->direct = instruction.direct;
    effect->refers = instruction.refers;
    effect->target = instruction.target;
    effect->returns = instruction.returns;
    effect->conditional = instruction.conditional;
    effect->calls = instruction.calls || (word & 0xfefff800) == 0xd63f0800; /* blraa … */
    effect->jumps = !effect->calls && !effect->returns && (instruction.direct || (word & 0xfe000000) == 0xd6000000);
    effect->ends = (word & 0xffff0000) == 0 || (word & 0xffe0001f) == 0xd4200000; /* udf, brk */
    if (effect->calls)
        effect->link.change = POINTER_LOST;
    if (effect->calls || effect->jumps || effect->returns || effect->ends)
        return true;
    if ((word & 0xfffff01f) == 0xd503201f) /* hints, of which some sign the return address, or check it */
        return true;
    if (!arch_code_aarch64.effect(code, size, &effected)) {
        effect->frame.change = field(word, 0, 5) == FRAME ? POINTER_LOST : POINTER_KEPT;
        effect->link.change = field(word, 0, 5) == LINK ? POINTER_LOST : POINTER_KEPT;
        return true;
    }
    effect->stack = pointer_after(&effected, SP);
    effect->frame = pointer_after(&effected, FRAME);
    if (zeroes_frame(word))
        effect->frame.change = POINTER_ZERO;
    effect->link = pointer_after(&effected, LINK);
    effect->frame_kept = place_kept(&effected, FRAME);
    effect->link_kept = place_kept(&effected, LINK);
    return true;
}

/* An exception between an exclusive load and its store makes the store fail; loops of both would never end. */
static size_t uninterrupted(const uint8_t *code, size_t size, size_t offset)
{
    enum { FARTHEST = 32 * 4 }; /* as far as the kernel looks for its own code's (MAX_ATOMIC_CONTEXT_SIZE) */
    uint32_t word;
    size_t at = offset & ~(size_t)3, first = at > FARTHEST ? at - FARTHEST : 0;
    bool loaded = false;
    while (at > first && at <= size) {
        memcpy(&word, code + (at -= 4), sizeof word);
        loaded = is_exclusive(word, true);
        if (loaded || is_exclusive(word, false))
            break;
    }
    for (at = offset; loaded && at + 4 <= size && at < offset + FARTHEST; at += 4) {
        memcpy(&word, code + at, sizeof word);
        if (is_exclusive(word, false))
            return at + 4 - offset;
    }
    return 0;
}

static void far_targets(const uint8_t *code, size_t size, uint64_t address, uint64_t low, uint64_t high,
                        void (*visit)(uint64_t, void *), void *context)
{
    for (size_t at = -address & 3; at + 4 <= size; at += 4) {
        struct arch_instruction instruction = {0};
        uint32_t word;
        memcpy(&word, code + at, sizeof word);
        find_target(word, &instruction);
        uint64_t target = address + at + (uint64_t)instruction.target;
        if (instruction.direct && target >= low && target < high)
            visit(target, context);
    }
}

/* Its instructions are decoded as fast. */
static bool leads_nowhere(const uint8_t *code, size_t size, uint64_t address, uint64_t low, uint64_t high)
{
    (void)code, (void)size, (void)address, (void)low, (void)high;
    return false;
}

static bool jumps_by_none(const uint8_t *code, size_t size)
{
    (void)code, (void)size;
    return false;
}

const struct arch_code arch_code_aarch64 = {
    .name = "aarch64",
    .step = 4,
    .decode = decode,
    .stack_pointer = SP,
    .effect = effect,
    .stack_effect = stack_effect,
    .uninterrupted = uninterrupted,
    .flow = flow,
    .far_targets = far_targets,
    .far_length = 4,
    .leads_nowhere = leads_nowhere,
    .jumps_by_none = jumps_by_none,
    .near_reach = 0,
};
