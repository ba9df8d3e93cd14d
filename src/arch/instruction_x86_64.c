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

/* Registers that no handler sees and no caller gets back: rax, r10, r11, the flags, and those of vectors, which probes
 * do not have. */
static bool may_change(ZydisRegister name)
{
    switch (ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name)) {
    case ZYDIS_REGISTER_RAX:
    case ZYDIS_REGISTER_R10:
    case ZYDIS_REGISTER_R11:
        return true;
    default: {
        ZydisRegisterClass class = ZydisRegisterGetClass(name);
        return class == ZYDIS_REGCLASS_FLAGS || class == ZYDIS_REGCLASS_XMM || class == ZYDIS_REGCLASS_YMM ||
               class == ZYDIS_REGCLASS_ZMM;
    }
    }
}

/* Reading there cannot fault, so that no call ends before the probe: the stack, the program's own data, and the
 * thread's. */
static bool may_read(const ZydisDecodedOperand *operand)
{
    if (operand->mem.index != ZYDIS_REGISTER_NONE)
        return false;
    return operand->mem.base == ZYDIS_REGISTER_RIP || operand->mem.base == ZYDIS_REGISTER_RSP ||
           (operand->mem.base == ZYDIS_REGISTER_NONE && operand->mem.segment == ZYDIS_REGISTER_FS);
}

/* Kinds of instructions that do nothing but what their operands tell, and that trap on no value. */
static bool is_plain(const ZydisDecodedInstruction *instruction)
{
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
    case ZYDIS_CATEGORY_MISC:
        return !(instruction->attributes & (ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_IS_PRIVILEGED)) &&
               (instruction->meta.category != ZYDIS_CATEGORY_MISC || instruction->mnemonic == ZYDIS_MNEMONIC_LEA);
    default:
        return false;
    }
}

static bool is_harmless(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands)
{
    if (instruction->mnemonic == ZYDIS_MNEMONIC_ENDBR64 || instruction->mnemonic == ZYDIS_MNEMONIC_NOP)
        return true;
    if (!is_plain(instruction))
        return false;
    for (size_t i = 0; i < instruction->operand_count; i++) {
        const ZydisDecodedOperand *operand = &operands[i];
        bool writes = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
        if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER && writes && !may_change(operand->reg.value))
            return false;
        if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.type != ZYDIS_MEMOP_TYPE_AGEN &&
            (writes || !may_read(operand)))
            return false;
    }
    return true;
}

/* jmp by a register or a table. Through a fixed word, as `jmp *slot(%rip)`, it leads to another function. */
static bool is_indirect(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands)
{
    if (instruction->mnemonic != ZYDIS_MNEMONIC_JMP || instruction->operand_count_visible != 1)
        return false;
    return operands->type == ZYDIS_OPERAND_TYPE_REGISTER ||
           (operands->type == ZYDIS_OPERAND_TYPE_MEMORY && operands->mem.base != ZYDIS_REGISTER_RIP);
}

/*
 * What uprobe_init_insn does not take: prefixes (is_prefix_bad: a locked instruction cannot be stepped elsewhere), and
 * what good_insns_64 does not have. The kernel looks the opcode of a VEX or EVEX instruction up there too, as if it
 * were one of a single byte: vmovd is refused as outs.
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

/* What can_optimize takes, since Linux 6.18: nops of five bytes. `lea 0(%rsi),%rsi` is one to insn_is_nop of later
 * versions. */
static bool is_replaced(const ZydisDecodedInstruction *instruction)
{
    return instruction->length == 5 && (instruction->mnemonic == ZYDIS_MNEMONIC_NOP ||
                                        (instruction->mnemonic == ZYDIS_MNEMONIC_LEA && instruction->raw.disp.size &&
                                         !instruction->raw.disp.value));
}

static bool decode(const uint8_t *code, size_t size, struct arch_instruction *result)
{
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder(), code, size, &instruction, operands)))
        return false;
    bool emulated = is_emulated(code, &instruction);
    *result = (struct arch_instruction){
        .length = instruction.length,
        .refused = is_refused(&instruction),
        .mistaken = is_mistaken(&instruction) ? "the kernel takes this vector instruction for another one" : NULL,
        .replaced = is_replaced(&instruction),
        .emulated = emulated,
        .push = emulated && instruction.mnemonic == ZYDIS_MNEMONIC_PUSH,
        .harmless = is_harmless(&instruction, operands),
        .conditional = instruction.meta.category == ZYDIS_CATEGORY_COND_BR,
        .landing_pad = instruction.mnemonic == ZYDIS_MNEMONIC_ENDBR64,
        .nop = instruction.mnemonic == ZYDIS_MNEMONIC_NOP,
        .returns = instruction.mnemonic == ZYDIS_MNEMONIC_RET,
        .indirect = is_indirect(&instruction, operands),
        .calls = instruction.mnemonic == ZYDIS_MNEMONIC_CALL,
        .direct = instruction.raw.imm[0].is_relative,
    };
    if (result->direct)
        result->target = (int64_t)instruction.length + instruction.raw.imm[0].value.s;
    return true;
}

static size_t uninterrupted(const uint8_t *code, size_t size, size_t offset)
{
    (void)code, (void)size, (void)offset;
    return 0; /* what must not be interrupted is one instruction */
}

/* e8 and e9 (call, jmp), 0f 80 … 0f 8f (jcc), each with four bytes of distance. */
static void far_targets(const uint8_t *code, size_t size, uint64_t address, uint64_t low, uint64_t high,
                        void (*visit)(uint64_t, void *), void *context)
{
    for (size_t at = 1; at + 4 <= size; at++) {
        bool one = (code[at - 1] & 0xfe) == 0xe8,
             two = at >= 2 && code[at - 2] == 0x0f && (code[at - 1] & 0xf0) == 0x80;
        if (!one && !two)
            continue;
        int32_t distance;
        memcpy(&distance, code + at, sizeof distance);
        uint64_t target = address + at + 4 + (uint64_t)(int64_t)distance;
        if (target >= low && target < high)
            visit(target, context);
    }
}

const struct arch_code arch_code_x86_64 = {
    .name = "x86_64",
    .step = 1,
    .decode = decode,
    .uninterrupted = uninterrupted,
    .far_targets = far_targets,
    .far_length = 6,
    .near_reach = 130, /* 7x, eb, e0 … e3 with one byte of distance */
};
