/* x86_64's instructions, by Zydis. */
#include <Zydis/Zydis.h>
#include <string.h>

#include "arch/instruction.h"

static const ZydisDecoder *decoder(void)
{
    static ZydisDecoder instance;
    static bool made;
    if (!made)
        made = ZYAN_SUCCESS(ZydisDecoderInit(&instance, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
    return &instance;
}

/*
 * What arch/x86/kernel/uprobes.c emulates: branch_setup_xol_ops (call, jmp and jcc to a fixed place, the nop of one
 * byte) since Linux 3.16, push_setup_xol_ops (of a register, with no prefix but REX.B) since 4.16. Nops of more bytes
 * are emulated since 6.18 only, and one of five is replaced there by a call that overwrites the red zone, so they are
 * not taken.
 */
static bool is_emulated(const uint8_t *code, const ZydisDecodedInstruction *instruction)
{
    size_t at = code[0] == 0xf2 && instruction->meta.category != ZYDIS_CATEGORY_NOP; /* bnd */
    if (at == 0 && instruction->length == 2 && code[0] == 0x41)
        return (code[1] & 0xf8) == 0x50;
    switch (code[at]) {
    case 0xe8:
    case 0xe9:
        return instruction->length == at + 5;
    case 0xeb:
        return instruction->length == at + 2;
    case 0x0f:
        return (code[at + 1] & 0xf0) == 0x80;
    case 0x90:
        return instruction->length == 1;
    default:
        return (code[at] & 0xf0) == 0x70 || ((code[at] & 0xf8) == 0x50 && instruction->length == 1);
    }
}

/* The number of the register NAME, of which a part may be meant, in struct pt_regs; -1: it is not there. */
static int number_of(ZydisRegister name)
{
    /* by the numbers that the instructions have for them: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 … r15 */
    static const int8_t numbers[] = {10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0};
    enum { FLAGS = 18 };
    if (ZydisRegisterGetClass(name) == ZYDIS_REGCLASS_FLAGS)
        return FLAGS;
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
    return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 ? numbers[ZydisRegisterGetId(whole)] : -1;
}

static bool is_whole(ZydisRegister name)
{
    return ZydisRegisterGetClass(name) == ZYDIS_REGCLASS_GPR64;
}

/* Kinds of instructions that do nothing but what their operands tell, and that trap on no value. */
static bool is_plain(const ZydisDecodedInstruction *instruction)
{
    /* Each of these needs a feature of the CPU, or traps where the program has said so. */
    if (instruction->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY ||
        instruction->attributes & (ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_IS_PRIVILEGED))
        return false;
    switch (instruction->meta.category) {
    case ZYDIS_CATEGORY_BINARY:
        return instruction->mnemonic != ZYDIS_MNEMONIC_DIV && instruction->mnemonic != ZYDIS_MNEMONIC_IDIV;
    case ZYDIS_CATEGORY_LOGICAL:
    case ZYDIS_CATEGORY_LOGICAL_FP:
    case ZYDIS_CATEGORY_SHIFT:
    case ZYDIS_CATEGORY_ROTATE:
    case ZYDIS_CATEGORY_BITBYTE:
    case ZYDIS_CATEGORY_SETCC:
    case ZYDIS_CATEGORY_CMOV:
    case ZYDIS_CATEGORY_CONVERT:
    case ZYDIS_CATEGORY_DATAXFER:
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_SSE: /* traps on floating-point numbers are off, unless a program asks for them */
        return true;
    case ZYDIS_CATEGORY_MISC:
        return instruction->mnemonic == ZYDIS_MNEMONIC_LEA;
    default:
        return false;
    }
}

/* Whether an instruction on 16 bytes of memory faults where their address is no multiple of that, as most do. */
static bool is_aligned(const ZydisDecodedInstruction *instruction)
{
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_MOVUPS:
    case ZYDIS_MNEMONIC_MOVUPD:
    case ZYDIS_MNEMONIC_MOVDQU:
    case ZYDIS_MNEMONIC_LDDQU:
        return false;
    default:
        return true;
    }
}

/* Notes OPERAND, which is in memory, in EFFECT; false where its address is computed of more than a register. */
static bool note_memory(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operand,
                        struct arch_effect *effect)
{
    bool of_thread = operand->mem.segment == ZYDIS_REGISTER_FS;
    if (instruction->mnemonic == ZYDIS_MNEMONIC_PUSH && operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN) {
        effect->pushes = operand->size == 64;
        return effect->pushes;
    }
    if (effect->memory || operand->mem.index != ZYDIS_REGISTER_NONE ||
        /* bt with a register goes on to other words */
        instruction->meta.category == ZYDIS_CATEGORY_BITBYTE || instruction->address_width != 64)
        return false;
    effect->offset = operand->mem.disp.value;
    effect->size = operand->size / 8;
    effect->writes = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    effect->aligned = is_aligned(instruction) && effect->size == 16;
    effect->base = ARCH_WORDS;
    if (is_whole(operand->mem.base))
        effect->base = (uint8_t)number_of(operand->mem.base);
    if (operand->mem.base == ZYDIS_REGISTER_RIP) {
        effect->memory = MEMORY_HERE;
        effect->offset += instruction->length;
        return !of_thread;
    }
    effect->memory = of_thread ? MEMORY_THREAD : MEMORY_BASED;
    return operand->mem.segment != ZYDIS_REGISTER_GS && (of_thread || effect->base != ARCH_WORDS);
}

/* Finds what EFFECT's instruction copies from one register to another, or between one and memory. */
static void follow(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands,
                   struct arch_effect *effect)
{
    const ZydisDecodedOperand *to = &operands[0], *from = &operands[1];
    bool to_register = to->type == ZYDIS_OPERAND_TYPE_REGISTER && is_whole(to->reg.value);
    bool from_register = from->type == ZYDIS_OPERAND_TYPE_REGISTER && is_whole(from->reg.value);
    effect->to = to_register ? (uint8_t)number_of(to->reg.value) : 0;
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        effect->follows = to_register && from_register;
        if (effect->follows)
            effect->from = (uint8_t)number_of(from->reg.value);
        if (effect->memory && to_register)
            effect->words[effect->word_count++] = effect->to;
        if (effect->memory && from_register)
            effect->words[effect->word_count++] = (uint8_t)number_of(from->reg.value);
        break;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
        effect->follows = to_register && from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
        effect->adds = instruction->mnemonic == ZYDIS_MNEMONIC_ADD && to_register && !effect->follows;
        effect->from = !effect->adds ? effect->to : from_register ? (uint8_t)number_of(from->reg.value) : ARCH_WORDS;
        effect->plus = instruction->mnemonic == ZYDIS_MNEMONIC_ADD ? from->imm.value.s : -from->imm.value.s;
        break;
    case ZYDIS_MNEMONIC_LEA:
        effect->follows = to_register && from->mem.index == ZYDIS_REGISTER_NONE &&
                          (is_whole(from->mem.base) || from->mem.base == ZYDIS_REGISTER_RIP);
        effect->plus = from->mem.disp.value;
        if (from->mem.base == ZYDIS_REGISTER_RIP) {
            effect->from = ARCH_HERE;
            effect->plus += instruction->length;
        } else if (effect->follows) {
            effect->from = (uint8_t)number_of(from->mem.base);
        }
        break;
    default:
        break;
    }
}

/* Finds what number an instruction leaves in a register at most, whatever was there. */
static void bound(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands,
                  struct arch_effect *effect)
{
    const ZydisDecodedOperand *to = &operands[0], *from = &operands[1];
    bool narrows = instruction->mnemonic == ZYDIS_MNEMONIC_AND && from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    bool extends = instruction->mnemonic == ZYDIS_MNEMONIC_MOVZX;
    /* what is written to 32 bits is 0 above them */
    if (to->type != ZYDIS_OPERAND_TYPE_REGISTER || to->size < 32 || number_of(to->reg.value) < 0)
        return;
    effect->bounded = extends || (narrows && from->imm.value.s >= 0);
    if (!effect->bounded)
        return;
    effect->to = (uint8_t)number_of(to->reg.value);
    effect->most = extends ? (UINT64_C(1) << from->size) - 1 : from->imm.value.u;
}

static bool effect(const uint8_t *code, size_t size, struct arch_effect *effect)
{
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    *effect = (struct arch_effect){0};
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder(), code, size, &instruction, operands)))
        return false;
    if (instruction.mnemonic == ZYDIS_MNEMONIC_ENDBR64 || instruction.mnemonic == ZYDIS_MNEMONIC_NOP)
        return true;
    if (!is_plain(&instruction))
        return false;
    for (size_t i = 0; i < instruction.operand_count; i++) {
        const ZydisDecodedOperand *operand = &operands[i];
        if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER && operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
            int number = number_of(operand->reg.value);
            if (number < 0 && ZydisRegisterGetClass(operand->reg.value) != ZYDIS_REGCLASS_XMM)
                return false;
            effect->changes |= number < 0 ? 0 : UINT64_C(1) << number;
        } else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.type != ZYDIS_MEMOP_TYPE_AGEN &&
                   !note_memory(&instruction, operand, effect)) {
            return false;
        }
    }
    follow(&instruction, operands, effect);
    bound(&instruction, operands, effect);
    return true;
}

/*
 * What uprobe_init_insn does not take: prefixes (is_prefix_bad: a locked instruction cannot be stepped elsewhere), what
 * good_insns_64 does not have, and moves to ss (insn_masking_exception), behind which the CPU takes no trap. The kernel
 * looks the opcode of a VEX or EVEX instruction up there too, as if it were one of a single byte: vmovd is refused as
 * outs.
 */
static bool is_refused(const ZydisDecodedInstruction *instruction)
{
    static const uint8_t bad_opcodes[] = {0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f,
                                          0x60, 0x61, 0x62, 0x6c, 0x6d, 0x6e, 0x6f, 0x82, 0x9a, 0xc4, 0xc5,
                                          0xcc, 0xcd, 0xce, 0xcf, 0xd4, 0xd5, 0xd6, 0xe4, 0xe5, 0xe6, 0xe7,
                                          0xea, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf4, 0xfa, 0xfb};
    const ZydisInstructionAttributes bad = ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_HAS_SEGMENT_CS |
                                           ZYDIS_ATTRIB_HAS_SEGMENT_DS | ZYDIS_ATTRIB_HAS_SEGMENT_ES |
                                           ZYDIS_ATTRIB_HAS_SEGMENT_SS | ZYDIS_ATTRIB_IS_PRIVILEGED;
    if (instruction->attributes & bad || instruction->meta.category == ZYDIS_CATEGORY_INTERRUPT)
        return true;
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
        return true;
    case ZYDIS_MNEMONIC_MOV:
        if (instruction->opcode == 0x8e && instruction->raw.modrm.reg == 2) /* ss */
            return true;
        break;
    default:
        break;
    }
    return instruction->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
           memchr(bad_opcodes, instruction->opcode, sizeof bad_opcodes);
}

/*
 * Finds instructions that the kernel takes for others. uprobe_init_insn, branch_setup_xol_ops and
 * arch_uprobe_analyze_insn look at the opcode's first byte, which in a VEX or EVEX instruction belongs to another
 * opcode map. So vmovdqu to memory (7f), vpor (eb) and vzeroupper (77) are jumps that lead to what follows: they are
 * skipped (Linux 3.16 to 6.18, measured). vfmadd132ss (9d) is popf, and vcmpps (c2) a return.
 */
static bool is_mistaken(const ZydisDecodedInstruction *instruction)
{
    static const uint8_t opcodes[] = {0x90, 0x9d, 0xc2, 0xc3, 0xca, 0xcb, 0xe8, 0xe9, 0xeb};
    return instruction->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
           ((instruction->opcode & 0xf0) == 0x70 || memchr(opcodes, instruction->opcode, sizeof opcodes));
}

/*
 * Why a probe on INSTRUCTION harms the program, NULL: it does not. The kernel steps most instructions elsewhere, with
 * the trap flag set, and mends only what it knows of (arch/x86/kernel/uprobes.c, default_post_xol_op). What a plain
 * uprobe of perf does, without uplua, by tests/targets/probed_instructions.c on Linux 6.18:
 *
 *   pushf of 2 and 8 bytes      the stored flags have the trap flag: SIGTRAP at the popf that takes them back
 *   syscall                     comes back to where it was stepped, with the trap flag in r11: SIGSEGV
 *   popf, lahf, sahf, std, cld, far ret, mov to ds, cpuid, rdtsc, enter, leave, loop, rep stos, mov behind mov to ss,
 *   popf that sets the trap flag    counted each time, and the program ends well
 *   int, int1, int3, iret, mov to ss, a locked instruction    refused by the kernel (is_refused)
 */
static const char *harm_of(const ZydisDecodedInstruction *instruction)
{
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
        return "the kernel steps it with the trap flag set, which it stores: the program would be ended by SIGTRAP "
               "where it takes the flags back";
    case ZYDIS_MNEMONIC_SYSCALL:
        return "the kernel steps it elsewhere, and the system call comes back there: the program would be ended by "
               "SIGSEGV";
    default:
        return is_mistaken(instruction) ? "the kernel takes this vector instruction for another one" : NULL;
    }
}

/* What can_optimize takes, since Linux 6.18: nops of five bytes. `lea 0(%rsi),%rsi` is one to insn_is_nop of later
 * versions. */
static bool is_replaced(const ZydisDecodedInstruction *instruction)
{
    return instruction->length == 5 && (instruction->mnemonic == ZYDIS_MNEMONIC_NOP ||
                                        (instruction->mnemonic == ZYDIS_MNEMONIC_LEA && instruction->raw.disp.size &&
                                         !instruction->raw.disp.value));
}

static uint64_t bit_of(ZydisRegister name)
{
    int number = number_of(name);
    return number < 0 ? 0 : UINT64_C(1) << number;
}

/* Notes what an operand in memory, or the address of one, has to do with jumps by a table. */
static void note_reference(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operand,
                           struct arch_instruction *result)
{
    bool is_address = operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN;
    bool has_index = operand->mem.index != ZYDIS_REGISTER_NONE;
    if (instruction->mnemonic == ZYDIS_MNEMONIC_JMP)
        result->jumps_by |= has_index ? UINT64_C(1) << ARCH_WORDS : bit_of(operand->mem.base);
    if (has_index) {
        result->computes |= UINT64_C(1) << ARCH_WORDS;
        result->indexed |= !is_address;
        result->absolute = operand->mem.base == ZYDIS_REGISTER_NONE ? (uint64_t)operand->mem.disp.value : 0;
    } else if (is_address && operand->mem.base == ZYDIS_REGISTER_RIP) {
        result->refers = true;
        result->target = (int64_t)instruction->length + operand->mem.disp.value;
    }
}

/* Notes what a jump or call that is not to a fixed place goes by, and what a load fetches from one. */
static void note_way(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands,
                     struct arch_instruction *result)
{
    const ZydisDecodedOperand *to = operands, *from = &operands[1];
    if (instruction->mnemonic == ZYDIS_MNEMONIC_MOV && from->type == ZYDIS_OPERAND_TYPE_MEMORY &&
        from->mem.base == ZYDIS_REGISTER_RIP && to->type == ZYDIS_OPERAND_TYPE_REGISTER)
        result->fetches = bit_of(to->reg.value);
    if (instruction->mnemonic != ZYDIS_MNEMONIC_CALL && instruction->mnemonic != ZYDIS_MNEMONIC_JMP)
        return;
    result->goes_by = to->type == ZYDIS_OPERAND_TYPE_REGISTER ? bit_of(to->reg.value) : UINT64_C(1) << ARCH_WORDS;
    result->by_variable = to->type == ZYDIS_OPERAND_TYPE_MEMORY && to->mem.base == ZYDIS_REGISTER_RIP;
    if (result->by_variable)
        result->target = (int64_t)instruction->length + to->mem.disp.value;
}

/* Finds what of an instruction's operands may have to do with a jump by a table: an index, the address of a place. A
 * jump through a fixed word, as `jmp *slot(%rip)`, leads to another function. */
static void find_references(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands,
                            struct arch_instruction *result)
{
    unsigned registers = 0;
    bool moves = instruction->mnemonic == ZYDIS_MNEMONIC_MOV;
    if (instruction->mnemonic == ZYDIS_MNEMONIC_NOP)
        return;
    for (size_t i = 0; i < instruction->operand_count_visible; i++) {
        const ZydisDecodedOperand *operand = &operands[i];
        if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
            note_reference(instruction, operand, result);
        } else if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && moves && operand->imm.value.u) {
            result->refers = true;
            result->absolute = operand->imm.value.u;
        } else if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
            registers++;
            if (instruction->mnemonic == ZYDIS_MNEMONIC_JMP)
                result->jumps_by |= bit_of(operand->reg.value);
        }
    }
    const ZydisDecodedOperand *to = operands;
    bool computes = result->computes || (registers > 1 && instruction->mnemonic == ZYDIS_MNEMONIC_ADD);
    if (computes && to->type == ZYDIS_OPERAND_TYPE_REGISTER && to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
        result->computes |= bit_of(to->reg.value);
}

/* Whether find_references or note_way may find something in an instruction's operands: to decode them takes long. */
static bool has_references(const ZydisDecodedInstruction *instruction)
{
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_CALL:
    case ZYDIS_MNEMONIC_JMP:
    case ZYDIS_MNEMONIC_ADD:
        return true;
    case ZYDIS_MNEMONIC_MOV:
        if (instruction->raw.imm[0].size)
            return true;
        break;
    default:
        break;
    }
    if (!(instruction->attributes & ZYDIS_ATTRIB_HAS_MODRM) || instruction->raw.modrm.mod == 3)
        return false;
    bool has_index =
        instruction->attributes & ZYDIS_ATTRIB_HAS_SIB && (instruction->raw.sib.index != 4 || instruction->raw.rex.X);
    bool is_here = instruction->raw.modrm.mod == 0 && instruction->raw.modrm.rm == 5;
    return has_index || is_here || instruction->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY;
}

static bool decode(const uint8_t *code, size_t size, struct arch_instruction *result)
{
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoderContext context;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder(), &context, code, size, &instruction)))
        return false;
    bool emulated = is_emulated(code, &instruction);
    *result = (struct arch_instruction){
        .length = instruction.length,
        .refused = is_refused(&instruction),
        .vector = instruction.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY,
        .mistaken = harm_of(&instruction),
        .replaced = is_replaced(&instruction),
        .emulated = emulated,
        .push = emulated && instruction.mnemonic == ZYDIS_MNEMONIC_PUSH,
        .conditional = instruction.meta.category == ZYDIS_CATEGORY_COND_BR,
        .landing_pad = instruction.mnemonic == ZYDIS_MNEMONIC_ENDBR64,
        .nop = instruction.mnemonic == ZYDIS_MNEMONIC_NOP,
        .returns = instruction.mnemonic == ZYDIS_MNEMONIC_RET,
        .calls = instruction.mnemonic == ZYDIS_MNEMONIC_CALL,
        .direct = instruction.raw.imm[0].is_relative,
    };
    if (result->direct)
        result->target = (int64_t)instruction.length + instruction.raw.imm[0].value.s;
    if (result->direct || !has_references(&instruction))
        return true;
    if (!ZYAN_SUCCESS(
            ZydisDecoderDecodeOperands(decoder(), &context, &instruction, operands, instruction.operand_count)))
        return false;
    find_references(&instruction, operands, result);
    note_way(&instruction, operands, result);
    return true;
}

static size_t uninterrupted(const uint8_t *code, size_t size, size_t offset)
{
    (void)code, (void)size, (void)offset;
    return 0; /* what must not be interrupted is one instruction */
}

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

static void far_targets(const uint8_t *code, size_t size, uint64_t address, uint64_t low, uint64_t high,
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

enum { NEAR = 130, WORDS = 64 /* that begin in a block */ };

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
    int64_t first = (int64_t)(low - address) - NEAR, last = (int64_t)(high - address) + NEAR;
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
static bool leads_nowhere(const uint8_t *code, size_t size, uint64_t address, uint64_t low, uint64_t high)
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
static bool jumps_by_none(const uint8_t *code, size_t size)
{
    for (size_t at = 1; at < size; at++) {
        unsigned kind = code[at] >> 3 & 7;
        if (code[at - 1] == 0xff && (kind == 4 || (kind == 5 && code[at] < 0xc0)))
            return false;
    }
    return true;
}

const struct arch_code arch_code_x86_64 = {
    .name = "x86_64",
    .step = 1,
    .decode = decode,
    .stack_pointer = 19,
    .entry_misaligned = 8, /* the return address */
    .thread_pointer_first = true,
    .effect = effect,
    .uninterrupted = uninterrupted,
    .far_targets = far_targets,
    .far_length = 6,
    .leads_nowhere = leads_nowhere,
    .jumps_by_none = jumps_by_none,
    .near_reach = NEAR, /* 7x, eb, e0 … e3 with one byte of distance */
};
