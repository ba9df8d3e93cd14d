/* x86_64's instructions, by Zydis. */
#include <Zydis/Zydis.h>
#include <string.h>

#include "arch/decoder_x86_64.h"
#include "arch/instruction.h"
#include "arch/jump_bytes_x86_64.h"
#include "arch/stack_effect_x86_64.h"

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

/* The general registers and the flags that INSTRUCTION changes. */
static uint64_t changed_by(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands)
{
    uint64_t changes = 0;
    for (size_t i = 0; i < instruction->operand_count; i++)
        if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
            number_of(operands[i].reg.value) >= 0)
            changes |= UINT64_C(1) << number_of(operands[i].reg.value);
    return changes;
}

static bool is_on_stack(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands)
{
    for (size_t i = 0; i < instruction->operand_count; i++)
        if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY && operands[i].mem.base == ZYDIS_REGISTER_RSP)
            return true;
    return false;
}

/*
 * What uprobe_init_insn does not take: prefixes (is_prefix_bad), also those that mean nothing: notrack jmp, cs nop;
 * what good_insns_64 does not have, and moves to ss (insn_masking_exception), behind which the CPU takes no trap. The
 * kernel looks the opcode of a VEX or EVEX instruction up there too, as if it were one of a single byte: vmovd is
 * refused as outs.
 */
static bool is_refused(const ZydisDecodedInstruction *instruction)
{
    static const uint8_t bad_opcodes[] = {0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x2f, 0x37, 0x3f,
                                          0x60, 0x61, 0x62, 0x6c, 0x6d, 0x6e, 0x6f, 0x82, 0x9a, 0xc4, 0xc5,
                                          0xcc, 0xcd, 0xce, 0xcf, 0xd4, 0xd5, 0xd6, 0xe4, 0xe5, 0xe6, 0xe7,
                                          0xea, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf4, 0xfa, 0xfb};
    static const uint8_t bad_prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0xf0}; /* es, cs, ss, ds, lock */
    for (unsigned i = 0; i < instruction->raw.prefix_count; i++)
        if (memchr(bad_prefixes, instruction->raw.prefixes[i].value, sizeof bad_prefixes))
            return true;
    if (instruction->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED || instruction->meta.category == ZYDIS_CATEGORY_INTERRUPT)
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

/* Of these, and of vector instructions, what computes and goes on: locked instructions, and nops. */
static bool is_opaque(const ZydisDecodedInstruction *instruction)
{
    return instruction->attributes & ZYDIS_ATTRIB_HAS_LOCK ||
           instruction->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY ||
           (instruction->mnemonic == ZYDIS_MNEMONIC_NOP && is_refused(instruction));
}

static bool effect(const uint8_t *code, size_t size, struct arch_effect *effect)
{
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    *effect = (struct arch_effect){0};
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder_x86_64(), code, size, &instruction, operands)))
        return false;
    if (is_opaque(&instruction)) {
        effect->opaque = true;
        effect->changes = changed_by(&instruction, operands);
        return !is_on_stack(&instruction, operands);
    }
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
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder_x86_64(), &context, code, size, &instruction)))
        return false;
    const ZydisInstructionAttributes repeating = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
    bool emulated = is_emulated(code, &instruction);
    *result = (struct arch_instruction){
        .length = instruction.length,
        .refused = is_refused(&instruction),
        .passable = is_refused(&instruction) && is_opaque(&instruction),
        .mistaken = harm_of(&instruction),
        .replaced = is_replaced(&instruction),
        .emulated = emulated,
        .push = emulated && instruction.mnemonic == ZYDIS_MNEMONIC_PUSH,
        .conditional = instruction.meta.category == ZYDIS_CATEGORY_COND_BR,
        .repeats = instruction.attributes & repeating,
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
            ZydisDecoderDecodeOperands(decoder_x86_64(), &context, &instruction, operands, instruction.operand_count)))
        return false;
    find_references(&instruction, operands, result);
    note_way(&instruction, operands, result);
    return true;
}

/* --- where indirect jumps may go --- */

static uint8_t word_of(ZydisRegister name)
{
    return is_whole(name) ? (uint8_t)number_of(name) : ARCH_WORDS;
}

/* What a load of OPERAND, which is in memory, leaves in a register; EXTENDED: with its sign, all of it. */
static void note_load(const ZydisDecodedOperand *operand, bool extended, struct arch_flow *flow)
{
    bool is_threads = operand->mem.segment == ZYDIS_REGISTER_FS || operand->mem.segment == ZYDIS_REGISTER_GS;
    flow->from = word_of(operand->mem.base);
    if (operand->size == 64 && !extended)
        flow->kind = FLOW_POINTER;
    if (operand->size != 32 || is_threads || operand->mem.base == ZYDIS_REGISTER_RIP)
        return;
    flow->kind = FLOW_DISTANCE;
    flow->index = word_of(operand->mem.index);
    flow->scaled = operand->mem.scale > 1;
    flow->half = !extended;
    flow->plus = operand->mem.disp.value;
}

/* What INSTRUCTION leaves in the register that is its first operand. */
static void note_flow(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands,
                      struct arch_flow *flow)
{
    const ZydisDecodedOperand *to = &operands[0], *from = &operands[1];
    bool whole = is_whole(to->reg.value);
    flow->to = (uint8_t)number_of(to->reg.value);
    bool of_register = from->type == ZYDIS_OPERAND_TYPE_REGISTER && number_of(from->reg.value) >= 0;
    flow->from = of_register ? (uint8_t)number_of(from->reg.value) : ARCH_WORDS;
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        if (is_memory(from) && to->size >= 32)
            note_load(from, false, flow);
        else if (whole && of_register && is_whole(from->reg.value))
            flow->kind = FLOW_COPY;
        else if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && to->size >= 32 && from->imm.value.u) {
            flow->kind = FLOW_PLACE;
            flow->absolute = to->size == 32 ? (uint32_t)from->imm.value.u : from->imm.value.u;
        }
        break;
    case ZYDIS_MNEMONIC_MOVSXD:
        if (whole && is_memory(from))
            note_load(from, true, flow);
        else if (whole && of_register && from->size == 32)
            flow->kind = FLOW_EXTEND;
        break;
    case ZYDIS_MNEMONIC_ADD:
        if (whole && of_register && is_whole(from->reg.value))
            flow->kind = FLOW_SUM;
        break;
    case ZYDIS_MNEMONIC_LEA:
        if (whole && from->mem.base == ZYDIS_REGISTER_RIP) {
            flow->kind = FLOW_PLACE;
            flow->plus = (int64_t)instruction->length + from->mem.disp.value;
        }
        break;
    default:
        break;
    }
}

/* What callees may change, by the ABI: rax, rcx, rdx, rsi, rdi, r8 … r11. */
static uint64_t changed_by_calls(void)
{
    static const ZydisRegister names[] = {ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_RDX,
                                          ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_R8,
                                          ZYDIS_REGISTER_R9,  ZYDIS_REGISTER_R10, ZYDIS_REGISTER_R11};
    uint64_t changes = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        changes |= bit_of(names[i]);
    return changes;
}

static bool flow(const uint8_t *code, size_t size, struct arch_flow *flow)
{
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    *flow = (struct arch_flow){.to = ARCH_WORDS, .from = ARCH_WORDS, .index = ARCH_WORDS};
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder_x86_64(), code, size, &instruction, operands)))
        return false;
    flow->changes = changed_by(&instruction, operands);
    switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_JMP:
        flow->jumps = operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE;
        if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER)
            flow->from = word_of(operands[0].reg.value);
        return true;
    case ZYDIS_MNEMONIC_CALL:
        flow->kind = FLOW_CALL;
        flow->changes |= changed_by_calls();
        return true;
    case ZYDIS_MNEMONIC_POP:
        flow->kind = FLOW_POINTER;
        flow->to = operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER ? word_of(operands[0].reg.value) : ARCH_WORDS;
        return true;
    case ZYDIS_MNEMONIC_CDQE: /* of eax */
        flow->kind = FLOW_EXTEND;
        flow->to = flow->from = (uint8_t)number_of(ZYDIS_REGISTER_RAX);
        return true;
    default:
        if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER && number_of(operands[0].reg.value) >= 0 &&
            operands[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE && instruction.operand_count_visible == 2)
            note_flow(&instruction, operands, flow);
        return true;
    }
}

static size_t uninterrupted(const uint8_t *code, size_t size, size_t offset)
{
    (void)code, (void)size, (void)offset;
    return 0; /* what must not be interrupted is one instruction */
}

const struct arch_code arch_code_x86_64 = {
    .name = "x86_64",
    .step = 1,
    .decode = decode,
    .stack_pointer = 19,
    .entry_misaligned = 8, /* the return address */
    .thread_pointer_first = true,
    .effect = effect,
    .stack_effect = stack_effect_x86_64,
    .uninterrupted = uninterrupted,
    .flow = flow,
    .far_targets = jump_bytes_far_targets,
    .places = jump_bytes_places,
    .far_length = 6,
    .leads_nowhere = jump_bytes_leads_nowhere,
    .jumps_by_none = jump_bytes_jumps_by_none,
    .near_reach = JUMP_BYTES_NEAR, /* 7x, eb, e0 … e3 with one byte of distance */
};
