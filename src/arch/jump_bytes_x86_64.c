/* Looks for x86_64's jumps, and for what mentions places, in bytes of which nobody knows where instructions begin. */
#include "arch/jump_bytes_x86_64.h"

#include <string.h>

/* Whether the distance behind a far jump's opcode may begin behind the two bytes of OPCODE: e8 and e9 (call, jmp), 0f
 * 80 … 0f 8f (jcc). Without branches, so that compilers make vectors of the loop in far_targets. */
static inline uint8_t is_far(const uint8_t *opcode)
{
    return ((opcode[1] & 0xfe) == 0xe8) | ((opcode[0] == 0x0f) & ((opcode[1] & 0xf0) == 0x80));
}

/* A distance of four bytes, and what leads where. */
struct far_jumps {
    const uint8_t *code;
    uint64_t address, low, high;
    void (*visit)(uint64_t, void *);
    void *context;
};

static void follow_far(const struct far_jumps *jumps, size_t at)
{
    int32_t distance;
    memcpy(&distance, jumps->code + at, sizeof distance);
    uint64_t target = jumps->address + at + 4 + (uint64_t)(int64_t)distance;
    if (target >= jumps->low && target < jumps->high)
        jumps->visit(target, jumps->context);
}

void jump_bytes_far_targets(const uint8_t *code, size_t size, uint64_t address, uint64_t low, uint64_t high,
                            void (*visit)(uint64_t, void *), void *context)
{
    enum { BLOCK = 64 };
    const struct far_jumps jumps = {code, address, low, high, visit, context};
    if (size > 4 && (code[0] & 0xfe) == 0xe8)
        follow_far(&jumps, 1);
    size_t at = 2;
    for (; at + BLOCK + 4 <= size; at += BLOCK) {
        union {
            uint8_t bytes[BLOCK];
            uint64_t words[BLOCK / 8];
        } found;
        for (size_t i = 0; i < BLOCK; i++)
            found.bytes[i] = is_far(code + at - 2 + i);
        for (size_t word = 0; word < BLOCK / 8; word++)
            for (uint64_t left = found.words[word]; left; left &= left - 1)
                follow_far(&jumps, at + 8 * word + (size_t)__builtin_ctzll(left) / 8);
    }
    for (; at + 4 <= size; at++)
        if (is_far(code + at - 2))
            follow_far(&jumps, at);
}

/* lea of a distance from itself: 8d, and a ModRM byte whose mod is 0 and whose r/m is 5. */
static inline uint8_t is_place(const uint8_t *opcode)
{
    return (opcode[0] == 0x8d) & ((opcode[1] & 0xc7) == 5);
}

void jump_bytes_places(const uint8_t *code, size_t size, uint64_t address, void (*visit)(uint64_t, void *),
                       void *context)
{
    enum { BLOCK = 64 };
    const struct far_jumps all = {code, address, 0, UINT64_MAX, visit, context};
    for (size_t at = 2; at + 4 <= size; at += BLOCK) {
        uint64_t end = size - 4 - at < BLOCK ? size - 3 - at : BLOCK;
        uint8_t found[BLOCK] = {0}, any = 0;
        for (size_t i = 0; i < end; i++)
            any |= found[i] = is_place(code + at - 2 + i);
        for (size_t i = 0; any && i < end; i++)
            if (found[i])
                follow_far(&all, at + i);
    }
}

enum { WORDS = 64 /* that begin in a block */ };

/* A word that begins anywhere. */
typedef uint32_t loose_word __attribute__((aligned(1), may_alias));

/* Whether one of the WORDS words from BLOCK on may be ABSOLUTE … ABSOLUTE + SPAN, or that once its place and RELATIVE
 * are added: by their low 32 bits, as compilers make vectors of these loops. */
static bool block_may_lead(const uint8_t *block, uint32_t absolute, uint32_t relative, uint32_t span)
{
    uint32_t found = 0;
    for (uint32_t phase = 0; phase < 4; phase++) {
        const loose_word *words = (const loose_word *)(block + phase);
        for (uint32_t i = 0; i < WORDS / 4; i++)
            found |= (uint32_t)(words[i] - absolute < span) | (uint32_t)(words[i] + relative + phase + 4 * i < span);
    }
    return found;
}

/* Whether the word at AT of CODE leads to LOW … HIGH: as a distance from what is behind it, or as an address. */
static bool word_leads(const uint8_t *code, size_t at, uint64_t address, uint64_t low, uint64_t high)
{
    int32_t word;
    memcpy(&word, code + at, sizeof word);
    return (uint64_t)(int64_t)word - low < high - low || address + at + 4 + (uint64_t)(int64_t)word - low < high - low;
}

/* Whether a byte behind 7x, eb or e0 … e3 does, as the distance of a near jump. Others are too far away. */
static bool near_leads(const uint8_t *code, size_t size, uint64_t address, uint64_t low, uint64_t high)
{
    int64_t first = (int64_t)(low - address) - JUMP_BYTES_NEAR, last = (int64_t)(high - address) + JUMP_BYTES_NEAR;
    for (int64_t at = first > 1 ? first : 1; at < last && at < (int64_t)size; at++) {
        uint8_t before = code[at - 1];
        if (((before & 0xf0) == 0x70 || before == 0xeb || (before & 0xfc) == 0xe0) &&
            address + (uint64_t)at + 1 + (uint64_t)(int64_t)(int8_t)code[at] - low < high - low)
            return true;
    }
    return false;
}

/* Any byte behind 7x, eb or e0 … e3 may be the distance of a near jump, any four bytes that of a far one or of lea, or
 * an address in a program that is not moved. */
bool jump_bytes_leads_nowhere(const uint8_t *code, size_t size, uint64_t address, uint64_t low, uint64_t high)
{
    if (near_leads(code, size, address, low, high))
        return false;
    size_t at = 0;
    while (at + 4 <= size) {
        bool is_block = at + WORDS + 3 <= size && high - low < UINT32_MAX;
        size_t end = is_block ? at + WORDS : at + 1;
        if (!is_block ||
            block_may_lead(code + at, (uint32_t)low, (uint32_t)(address + at + 4 - low), (uint32_t)(high - low)))
            for (size_t one = at; one < end; one++)
                if (word_leads(code, one, address, low, high))
                    return false;
        at = end;
    }
    return true;
}

/* ff, and 4 or 5 in the middle of the ModRM byte: jmp; 5 with a register is no instruction. */
bool jump_bytes_jumps_by_none(const uint8_t *code, size_t size)
{
    for (size_t at = 1; at < size; at++) {
        unsigned kind = code[at] >> 3 & 7;
        if (code[at - 1] == 0xff && (kind == 4 || (kind == 5 && code[at] < 0xc0)))
            return false;
    }
    return true;
}
