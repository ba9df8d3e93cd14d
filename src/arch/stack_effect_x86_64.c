/* By the registers rsp and rbp, and by r10, of which gcc makes its way to the arguments where it aligns a stack. */
#include "arch/stack_effect_x86_64.h"

#include "arch/decoder_x86_64.h"

static enum arch_base base_of(ZydisRegister name)
{
    switch (name) {
    case ZYDIS_REGISTER_RSP:
        return BASE_STACK;
    case ZYDIS_REGISTER_RBP:
        return BASE_FRAME;
    case ZYDIS_REGISTER_R10:
        return BASE_ARGUMENTS;
    case ZYDIS_REGISTER_R11:
        return BASE_LIMIT;
    default:
        return BASE_NONE;
    }
}

/* What EFFECT has of the register BASE, and where it is put. */
static struct arch_pointer *pointer_of(struct arch_stack_effect *effect, enum arch_base base)
{
    switch (base) {
    case BASE_STACK:
        return &effect->stack;
    case BASE_FRAME:
        return &effect->frame;
    case BASE_ARGUMENTS:
        return &effect->arguments;
    case BASE_LIMIT:
        return &effect->limit;
    default:
        return NULL;
    }
}

static void note_kept(struct arch_stack_effect *effect, const ZydisDecodedOperand *operand, struct arch_place place)
{
    enum arch_base base = operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? base_of(operand->reg.value) : BASE_NONE;
    if (base == BASE_FRAME)
        effect->frame_kept = place;
    if (base == BASE_ARGUMENTS)
        effect->arguments_kept = place;
}

/* The place that OPERAND, which is in memory, names by the stack pointer or the frame pointer alone. */
static struct arch_place place_of(const ZydisDecodedOperand *operand)
{
    enum arch_base base = operand->mem.index == ZYDIS_REGISTER_NONE ? base_of(operand->mem.base) : BASE_NONE;
    return (struct arch_place){base, base ? operand->mem.disp.value : 0};
}

/* What a move, or a sum with a constant, leaves in its first operand. */
static struct arch_pointer pointer_after(const ZydisDecodedInstruction *instruction,
                                         const ZydisDecodedOperand *operands)
{
    const ZydisDecodedOperand *to = &operands[0], *from = &operands[1];
    struct arch_pointer result = {POINTER_MOVED, {BASE_NONE, 0}};
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        if (from->type == ZYDIS_OPERAND_TYPE_REGISTER)
            result.place.base = base_of(from->reg.value);
        if (is_memory(from))
            result = (struct arch_pointer){POINTER_LOADED, place_of(from)};
        break;
    case ZYDIS_MNEMONIC_LEA:
        result.place = place_of(from);
        break;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
        if (from->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
            break;
        result.place.base = base_of(to->reg.value);
        result.place.offset = instruction->mnemonic == ZYDIS_MNEMONIC_ADD ? from->imm.value.s : -from->imm.value.s;
        break;
    case ZYDIS_MNEMONIC_AND:
        if (to->reg.value == ZYDIS_REGISTER_RSP && from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && from->imm.value.s < 0)
            return (struct arch_pointer){POINTER_ALIGNED, {BASE_NONE, 0}};
        break;
    default:
        break;
    }
    if (!result.place.base)
        result.change = POINTER_LOST;
    return result;
}

/* Whether the instruction sets its register to 0: xor or sub of itself, or a move. */
static bool is_zeroing(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands)
{
    const ZydisDecodedOperand *to = &operands[0], *from = &operands[1];
    if (instruction->operand_width < 32 || to->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return false;
    if (instruction->mnemonic == ZYDIS_MNEMONIC_MOV)
        return from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && from->imm.value.s == 0;
    return (instruction->mnemonic == ZYDIS_MNEMONIC_XOR || instruction->mnemonic == ZYDIS_MNEMONIC_SUB) &&
           from->type == ZYDIS_OPERAND_TYPE_REGISTER && from->reg.value == to->reg.value;
}

/* Notes in EFFECT what becomes of the stack pointer and the frame pointer, which the instruction may change. */
static void note_pointers(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands,
                          struct arch_stack_effect *effect)
{
    for (size_t i = 0; i < instruction->operand_count; i++) {
        const ZydisDecodedOperand *operand = &operands[i];
        if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER || !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand->reg.value);
        struct arch_pointer *pointer = pointer_of(effect, base_of(whole));
        if (pointer && i == 0 && is_zeroing(instruction, operands))
            pointer->change = POINTER_ZERO;
        else if (pointer && i == 0 && operand->reg.value == whole && instruction->operand_count_visible == 2)
            *pointer = pointer_after(instruction, operands);
        else if (pointer)
            pointer->change = POINTER_LOST;
    }
    if (instruction->mnemonic == ZYDIS_MNEMONIC_MOV && is_memory(&operands[0]))
        note_kept(effect, &operands[1], place_of(&operands[0]));
}

/* The same of what pushes and pops; false where the instruction is none of these. */
static bool note_push(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands,
                      struct arch_stack_effect *effect)
{
    const struct arch_place top = {BASE_STACK, 0};
    int64_t size = instruction->operand_width / 8;
    enum arch_base popped = BASE_NONE;
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHFQ:
        effect->stack = (struct arch_pointer){POINTER_MOVED, {BASE_STACK, -size}};
        if (instruction->mnemonic == ZYDIS_MNEMONIC_PUSH && size == 8)
            note_kept(effect, &operands[0], (struct arch_place){BASE_STACK, -size});
        return true;
    case ZYDIS_MNEMONIC_POP:
        if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER)
            popped = base_of(operands[0].reg.value);
        if (popped == BASE_STACK)
            return false;
        if (popped)
            *pointer_of(effect, popped) = (struct arch_pointer){POINTER_LOADED, top};
        effect->stack = (struct arch_pointer){POINTER_MOVED, {BASE_STACK, size}};
        return true;
    case ZYDIS_MNEMONIC_POPFQ:
        effect->stack = (struct arch_pointer){POINTER_MOVED, {BASE_STACK, size}};
        return true;
    case ZYDIS_MNEMONIC_LEAVE:
        effect->stack = (struct arch_pointer){POINTER_MOVED, {BASE_FRAME, size}};
        effect->frame = (struct arch_pointer){POINTER_LOADED, {BASE_FRAME, 0}};
        return true;
    default:
        return false;
    }
}

/* Notes the fixed place of which an instruction computes the address: lea, or mov of a constant. */
static void note_reference(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands,
                           struct arch_stack_effect *effect)
{
    const ZydisDecodedOperand *from = &operands[1];
    if (instruction->mnemonic == ZYDIS_MNEMONIC_LEA && from->mem.base == ZYDIS_REGISTER_RIP) {
        effect->refers = true;
        effect->target = (int64_t)instruction->length + from->mem.disp.value;
    } else if (instruction->mnemonic == ZYDIS_MNEMONIC_MOV && from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        effect->absolute = from->imm.value.u;
        effect->refers = effect->absolute != 0;
    }
}

static bool compares_limit(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands)
{
    ZydisRegister one = operands[0].reg.value, other = operands[1].reg.value;
    return instruction->mnemonic == ZYDIS_MNEMONIC_CMP && operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           ((one == ZYDIS_REGISTER_RSP && other == ZYDIS_REGISTER_R11) ||
            (one == ZYDIS_REGISTER_R11 && other == ZYDIS_REGISTER_RSP));
}

bool stack_effect_x86_64(const uint8_t *code, size_t size, struct arch_stack_effect *effect)
{
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    *effect = (struct arch_stack_effect){0};
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder_x86_64(), code, size, &instruction, operands)))
        return false;
    effect->length = instruction.length;
    effect->nop = instruction.mnemonic == ZYDIS_MNEMONIC_NOP || instruction.mnemonic == ZYDIS_MNEMONIC_INT3;
    effect->direct = instruction.raw.imm[0].is_relative;
    if (effect->direct)
        effect->target = (int64_t)instruction.length + instruction.raw.imm[0].value.s;
    switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_CALL:
        effect->calls = true;
        effect->arguments.change = effect->limit.change = POINTER_LOST;
        return true;
    case ZYDIS_CATEGORY_RET:
        effect->returns = true;
        return true;
    case ZYDIS_CATEGORY_COND_BR:
        effect->conditional = true;
        effect->if_unequal = instruction.mnemonic == ZYDIS_MNEMONIC_JNZ;
        /* fallthrough */
    case ZYDIS_CATEGORY_UNCOND_BR:
        effect->jumps = true;
        return true;
    default:
        break;
    }
    effect->ends = instruction.mnemonic == ZYDIS_MNEMONIC_UD2 || instruction.mnemonic == ZYDIS_MNEMONIC_HLT ||
                   instruction.mnemonic == ZYDIS_MNEMONIC_INT3;
    effect->compares = compares_limit(&instruction, operands);
    note_reference(&instruction, operands, effect);
    if (!note_push(&instruction, operands, effect))
        note_pointers(&instruction, operands, effect);
    return true;
}
