/*
 * The rule of a frame whose code has no call frame information, by that code itself, where all instructions have four
 * bytes (aarch64).
 *
 * The frame at the frame pointer may be an outer function's: a function without a frame pointer has its return address
 * anywhere in its frame, or in the link register. But a function restores all of it before it returns. Some path leads
 * through its code to an epilogue, whose instructions tell where the return address and the caller's frame pointer are,
 * and how far the stack pointer moves. It is followed over calls and past conditional branches; one that comes back or
 * leaves the function (a call that never returns has the next function behind it) is none, and the first branches are
 * tried, each once. A path that does not lead to a return gives no rule: a missing caller is better than a wrong one.
 *
 * (Arm Architecture Reference Manual, C4.1: the encodings. AAPCS64, 6.1.1 and 6.2.2: x29, x30 and sp are a caller's own
 * at its return.)
 */
#pragma once

#include <linux/types.h>

#include "rule_cache.h"
#include "unwind.h"

enum {
    EPILOGUE_STEPS = 2048, /* instructions, of all ways together */
    EPILOGUE_RETURNS = 4,
    EPILOGUE_BRANCHES = 16, /* that are tried */
    CODE_FRAME = 29,        /* registers by their number, which is DWARF's too */
    CODE_LINK = 30,
    CODE_STACK = 31,
};

/* A number that is OFFSET above what register BASE had at the start. BASE 0: it is not known. */
struct epilogue_value {
    __s32 offset;
    __u32 base;
};

enum epilogue_saved {
    SAVED_UNDECIDED, /* in its register, or in memory from which it will be read */
    SAVED_IN_REGISTER,
    SAVED_IN_MEMORY,
    SAVED_READ,
};

struct epilogue {
    /* where the frame stands: behind a call where it is divisible by 4, 1 behind any instruction that is next
     * otherwise */
    __u64 start;
    __u64 at;                                /* the next instruction */
    struct epilogue_value sp, fp;            /* what the registers have there */
    struct epilogue_value link_at, frame_at; /* where what the caller had in x30 and x29 was read */
    __u32 link, frame;                       /* enum epilogue_saved */
    __u32 returns;                           /* jumps back */
    __u32 branches, taken;                   /* conditional ones until here; the one that is not passed, 0: none */
};

enum epilogue_step { EPILOGUE_ON, EPILOGUE_END, EPILOGUE_LOST };

static __always_inline void epilogue_begin(struct epilogue *way, __u32 taken)
{
    way->at = way->start & ~3ull;
    way->sp = (struct epilogue_value){0, CODE_STACK};
    way->fp = (struct epilogue_value){0, CODE_FRAME};
    way->link_at = way->frame_at = (struct epilogue_value){0, 0};
    way->link = way->start & 3 ? SAVED_UNDECIDED : SAVED_IN_MEMORY;
    way->frame = SAVED_UNDECIDED;
    way->returns = way->branches = 0;
    way->taken = taken;
}

/* Begins anew, with the next branch taken; false where there is none. */
static __always_inline int epilogue_again(struct epilogue *way)
{
    if (way->taken > way->branches || way->taken >= EPILOGUE_BRANCHES)
        return 0;
    epilogue_begin(way, way->taken + 1);
    return 1;
}

/* The COUNT bits of CODE from bit FIRST on, as a signed number. */
static __always_inline __s64 code_signed(__u32 code, int first, int count)
{
    return (__s64)((__u64)code << (64 - first - count)) >> (64 - count);
}

static __always_inline __u32 code_bits(__u32 code, int first, int count)
{
    return code >> first & ((1u << count) - 1);
}

/* What register NUMBER has; not known of any other than two. */
static __always_inline struct epilogue_value epilogue_register(const struct epilogue *way, __u32 number)
{
    struct epilogue_value none = {0, 0};
    return number == CODE_STACK ? way->sp : number == CODE_FRAME ? way->fp : none;
}

/* Register NUMBER is given a value. */
static __always_inline int epilogue_set(struct epilogue *way, __u32 number, struct epilogue_value value, int stack)
{
    if (number == CODE_STACK && stack)
        way->sp = value;
    if (number == CODE_FRAME)
        way->fp = value;
    return number == CODE_LINK ? EPILOGUE_LOST : EPILOGUE_ON;
}

/* Register NUMBER is stored. */
static __always_inline int epilogue_store(struct epilogue *way, __u32 number)
{
    if (number == CODE_FRAME && way->frame == SAVED_UNDECIDED)
        way->frame = SAVED_IN_REGISTER;
    if (number != CODE_LINK)
        return EPILOGUE_ON;
    int first = way->link == SAVED_UNDECIDED; /* otherwise a function begins here */
    way->link = SAVED_IN_REGISTER;
    return first ? EPILOGUE_ON : EPILOGUE_LOST;
}

/* Register NUMBER is loaded from AT. */
static __always_inline int epilogue_load(struct epilogue *way, __u32 number, struct epilogue_value at)
{
    if (number == CODE_FRAME) {
        if (way->frame == SAVED_UNDECIDED) {
            way->frame = SAVED_READ;
            way->frame_at = at;
        }
        way->fp.base = 0;
    }
    if (number != CODE_LINK || way->link == SAVED_IN_REGISTER)
        return EPILOGUE_ON;
    int again = way->link == SAVED_READ;
    way->link = SAVED_READ;
    way->link_at = at;
    return again ? EPILOGUE_LOST : EPILOGUE_ON;
}

/* A load or store of one or two registers, of WIDTH bytes each, at OFFSET from register BASE, which WRITTEN (1 before,
 * 2 after) changes. */
static __always_inline int epilogue_memory(struct epilogue *way, __u32 code, int pair, int load, int width,
                                           __s32 offset, int written)
{
    __u32 number = code_bits(code, 5, 5), first = code_bits(code, 0, 5), second = code_bits(code, 10, 5);
    struct epilogue_value base = epilogue_register(way, number), at = base;
    int step = EPILOGUE_ON;
    at.offset += written == 2 ? 0 : offset;
    base.offset += offset;
    if (width == 8) { /* what has another one is no return address, nor a frame pointer */
        step |= load ? epilogue_load(way, first, at) : epilogue_store(way, first);
        at.offset += 8;
        if (pair)
            step |= load ? epilogue_load(way, second, at) : epilogue_store(way, second);
    } else if (load && width) {
        way->fp.base = first == CODE_FRAME ? 0 : way->fp.base;
    }
    if (written)
        step |= epilogue_set(way, number, base, 1);
    return step;
}

/* LDP, STP and their like; width 0: of registers for floating point. */
static __always_inline int epilogue_pair(struct epilogue *way, __u32 code)
{
    /* 1: after, 3: before */
    int size = code_bits(code, 30, 2), vector = code_bits(code, 26, 1), mode = code_bits(code, 23, 2);
    int width = vector ? 4 << size : size == 2 ? 8 : 4;
    return epilogue_memory(way, code, 1, code_bits(code, 22, 1), vector ? 0 : width, code_signed(code, 15, 7) * width,
                           mode == 1 ? 2 : mode == 3);
}

/* LDR, STR and their like, with an offset of 9 bits, or one of 12 that is scaled. */
static __always_inline int epilogue_single(struct epilogue *way, __u32 code)
{
    int size = code_bits(code, 30, 2), vector = code_bits(code, 26, 1), scaled = code_bits(code, 24, 1),
        mode = code_bits(code, 10, 2);
    __s32 offset = scaled ? (__s32)code_bits(code, 10, 12) << size : code_signed(code, 12, 9);
    if (!scaled && code_bits(code, 21, 1)) /* by a register, atomic */
        return epilogue_memory(way, code, 0, 1, vector ? 0 : 4, 0, 0);
    return epilogue_memory(way, code, 0, code_bits(code, 22, 2) != 0, vector ? 0 : 1 << size, offset,
                           scaled      ? 0
                           : mode == 1 ? 2
                                       : mode == 3);
}

/* ADD and SUB of a constant to sp or x29, and whatever else gives a register a value. */
static __always_inline int epilogue_compute(struct epilogue *way, __u32 code)
{
    __u32 to = code_bits(code, 0, 5);
    struct epilogue_value value = {0, 0};
    if ((code & 0xbf800000) == 0x91000000) {
        __s32 constant = code_bits(code, 10, 12) << (code_bits(code, 22, 1) ? 12 : 0);
        value = epilogue_register(way, code_bits(code, 5, 5));
        value.offset += code_bits(code, 30, 1) ? -constant : constant;
        return epilogue_set(way, to, value, 1);
    }
    /* AND, ORR, EOR of a constant, ADD and SUB of a register: 31 is sp */
    return epilogue_set(way, to, value, (code & 0x1f800000) == 0x12000000 || (code & 0x3fe00000) == 0x0b200000);
}

/* A jump by DISTANCE instructions, if it is one that is taken: back only where nothing else leads on, as often as there
 * may be ways. */
static __always_inline int epilogue_jump(struct epilogue *way, __s64 distance, int conditional)
{
    if (distance <= 0 && (conditional || ++way->returns > EPILOGUE_RETURNS))
        return conditional ? EPILOGUE_ON : EPILOGUE_LOST;
    if (!conditional || ++way->branches == way->taken)
        way->at += (distance - 1) * 4; /* it has been advanced */
    return EPILOGUE_ON;
}

static __always_inline int epilogue_branch(struct epilogue *way, __u32 code)
{
    enum { BR = 0, BLR = 1, RET = 2 };
    if ((code & 0xff000010) == 0x54000000 || (code & 0x7e000000) == 0x34000000) /* B.cond, CBZ, CBNZ */
        return epilogue_jump(way, code_signed(code, 5, 19), 1);
    if ((code & 0x7e000000) == 0x36000000) /* TBZ, TBNZ */
        return epilogue_jump(way, code_signed(code, 5, 14), 1);
    if ((code & 0xfc000000) == 0x14000000) /* B: a call in place of a return, once all is as before */
        return way->link == SAVED_READ ? EPILOGUE_END : epilogue_jump(way, code_signed(code, 0, 26), 0);
    if ((code & 0xfc000000) == 0x94000000 || (code & 0xfee00000) == 0xd6200000) { /* BL, BLR */
        if (way->link == SAVED_UNDECIDED)
            way->link = SAVED_IN_MEMORY;
        return way->link == SAVED_READ ? EPILOGUE_LOST : EPILOGUE_ON;
    }
    if (code == 0xd65f03c0 || code == 0xd65f0bff || code == 0xd65f0fff) /* RET, RETAA, RETAB */
        return way->link == SAVED_IN_MEMORY ? EPILOGUE_LOST : EPILOGUE_END;
    /* BR: the same as B above; in a stub of the procedure linkage table by x16 or x17 */
    if ((code & 0xfffffc1f) == 0xd61f0000) {
        int stub = way->link == SAVED_UNDECIDED && code_bits(code, 6, 4) == 8;
        return way->link == SAVED_READ || stub ? EPILOGUE_END : EPILOGUE_LOST;
    }
    if ((code & 0xffffffbf) == 0xd503233f ||
        (code & 0xffffff7f) == 0xd503245f) /* PACIASP, PACIBSP, BTI c, BTI jc: here one begins */
        return way->at == (way->start & ~3ull) + 4 && way->start & 3 ? EPILOGUE_ON : EPILOGUE_LOST;
    /* SVC; what is left: BRK */
    return code >> 24 == 0xd5 || (code & 0xffe0001f) == 0xd4000001 ? EPILOGUE_ON : EPILOGUE_LOST;
}

/* Takes the instruction CODE, which is the next one. */
static __always_inline int epilogue_step(struct epilogue *way, __u32 code)
{
    way->at += 4;
    switch (code_bits(code, 25, 4)) {
    case 8:
    case 9:
        return epilogue_compute(way, code); /* with a constant */
    case 5:
    case 13:
        return epilogue_compute(way, code);
    case 10:
    case 11:
        return epilogue_branch(way, code);
    case 4:
    case 6:
    case 12:
    case 14:
        if ((code & 0x3a000000) == 0x28000000)
            return epilogue_pair(way, code);
        if ((code & 0x3a000000) == 0x38000000)
            return epilogue_single(way, code);
        return epilogue_set(way, code_bits(code, 0, 5), (struct epilogue_value){0, 0}, 0);
    case 7:
    case 15:
        return EPILOGUE_ON; /* floating point */
    default:
        return EPILOGUE_LOST; /* no instruction, or an extension's */
    }
}

/* Where AT is from the CFA, in *OFFSET, as a rule can say it. */
static __always_inline int epilogue_offset(const struct epilogue *way, struct epilogue_value at, __s64 *offset)
{
    *offset = (__s64)at.offset - way->sp.offset;
    return at.base == way->sp.base && *offset < 0 && *offset >= -(1 << 18) && !(*offset & 7);
}

/* The rule where a way has come to its end; RULE_UNKNOWN where there is none. */
static __always_inline __u64 epilogue_rule(const struct epilogue *way)
{
    __s64 link = 0, frame = 0, cfa = way->sp.offset;
    if (!way->sp.base || cfa & 7 || cfa >= RULE_OFFSET_LIMIT || cfa < -RULE_OFFSET_LIMIT)
        return RULE_UNKNOWN;
    if (way->sp.base == CODE_STACK && cfa < (way->link == SAVED_READ ? 8 : 0))
        return RULE_UNKNOWN;
    if (way->link == SAVED_READ && !epilogue_offset(way, way->link_at, &link))
        return RULE_UNKNOWN;
    if (way->frame == SAVED_READ && !epilogue_offset(way, way->frame_at, &frame))
        return RULE_UNKNOWN;
    return RULE(RULE_REGISTER, (__u64)way->sp.base, cfa, frame, link);
}

/* Takes CODE, the instruction at way->at; true when the search is over, and epilogue_rule is what was found. */
static __always_inline int epilogue_take(struct epilogue *way, __u32 code)
{
    int step = epilogue_step(way, code);
    if (step == EPILOGUE_END && epilogue_rule(way) != RULE_UNKNOWN)
        return 1;
    if (step == EPILOGUE_ON || epilogue_again(way))
        return 0;
    way->sp.base = 0; /* no rule */
    return 1;
}
