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

/* nop and bti; what sets nothing but the flags. paciasp is none of them: it changes the return address. */
static bool is_harmless(uint32_t word)
{
    static const struct encoding list[] = {
        {0xffffffff, 0xd503201f}, /* nop */
        {0xffffff3f, 0xd503241f}, /* bti */
        {0x7f80001f, 0x7100001f}, /* cmp with a constant, … */
        {0x7f20001f, 0x6b00001f}, /* … a shifted … */
        {0x7fe0001f, 0x6b20001f}, /* … and an extended register */
        {0x7f80001f, 0x3100001f}, /* cmn with a constant … */
        {0x7f20001f, 0x2b00001f}, /* … and a register */
        {0x7f80001f, 0x7200001f}, /* tst with a constant … */
        {0x7f20001f, 0x6a00001f}, /* … and a register */
    };
    return is_one_of(word, list, sizeof list / sizeof *list);
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
    result->harmless = is_harmless(word);
    result->refused = is_refused(word) || is_literal(word);
    result->mistaken = is_literal(word) ? "the kernel does not load this constant from where it lies" : NULL;
    result->landing_pad = (word & 0xffffff3f) == 0xd503241f; /* bti */
    result->nop = word == 0xd503201f;
    result->returns = (word & 0xfffffc1f) == 0xd65f0000 || (word & 0xfffffbff) == 0xd65f0bff; /* ret, retaa and retab */
    result->calls = (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000;   /* bl, blr */
    result->indirect = (word & 0xfffffc1f) == 0xd61f0000;
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

const struct arch_code arch_code_aarch64 = {
    .name = "aarch64",
    .step = 4,
    .decode = decode,
    .uninterrupted = uninterrupted,
    .far_targets = far_targets,
    .far_length = 4,
    .near_reach = 0,
};
