/* BPF instructions as text, in the form of the kernel's verifier. */
#include "compile/machine/disassemble.h"

#include <stdio.h>

/* Newer than the headers of Linux 6.1. */
enum {
    LOAD_SIGNED = 0x80,   /* BPF_MEMSX, 6.6 */
    JUMP_MAY_GOTO = 0xe0, /* BPF_JCOND, 6.9 */
};

struct place {
    const struct bpf_insn *instruction;
    const struct object_reference *reference;
    size_t at;
    char *text;
    size_t size;
};

#define PRINT(place, ...) ((void)snprintf((place)->text, (place)->size, __VA_ARGS__))

static void unknown(const struct place *place)
{
    PRINT(place, "unknown instruction 0x%02x", place->instruction->code);
}

const char *disassemble_helper(int32_t number)
{
#define NAME(name, ...) [BPF_FUNC_##name] = #name
    static const char *const names[] = {__BPF_FUNC_MAPPER(NAME)};
#undef NAME
    return number > 0 && (size_t)number < sizeof names / sizeof *names ? names[number] : NULL;
}

/* --- arithmetic --- */

static const char *const alu_operators[16] = {
    [BPF_ADD >> 4] = "+=", [BPF_SUB >> 4] = "-=", [BPF_MUL >> 4] = "*=",  [BPF_DIV >> 4] = "/=",
    [BPF_OR >> 4] = "|=",  [BPF_AND >> 4] = "&=", [BPF_LSH >> 4] = "<<=", [BPF_RSH >> 4] = ">>=",
    [BPF_MOD >> 4] = "%=", [BPF_XOR >> 4] = "^=", [BPF_MOV >> 4] = "=",   [BPF_ARSH >> 4] = "s>>=",
};

static void byte_order(const struct place *place)
{
    const struct bpf_insn *i = place->instruction;
    const char *order = BPF_CLASS(i->code) == BPF_ALU64 ? "bswap" : BPF_SRC(i->code) == BPF_TO_BE ? "be" : "le";
    PRINT(place, "r%d = %s%d r%d", i->dst_reg, order, i->imm, i->dst_reg);
}

static void arithmetic(const struct place *place)
{
    const struct bpf_insn *i = place->instruction;
    char r = BPF_CLASS(i->code) == BPF_ALU64 ? 'r' : 'w';
    uint8_t operation = BPF_OP(i->code);
    const char *operator= alu_operators[operation >> 4], *sign = "", *cast = "";
    if (operation == BPF_END)
        return byte_order(place);
    if (operation == BPF_NEG)
        return PRINT(place, "%c%d = -%c%d", r, i->dst_reg, r, i->dst_reg);
    if (!operator)
        return unknown(place);
    if (i->off == 1 && (operation == BPF_DIV || operation == BPF_MOD))
        sign = "s"; /* 6.6 */
    if (i->off && operation == BPF_MOV)
        cast = i->off == 8 ? "(s8)" : i->off == 16 ? "(s16)" : "(s32)"; /* 6.6 */
    if (BPF_SRC(i->code) == BPF_X)
        PRINT(place, "%c%d %s%s %s%c%d", r, i->dst_reg, sign, operator, cast, r, i->src_reg);
    else
        PRINT(place, "%c%d %s%s %d", r, i->dst_reg, sign, operator, i->imm);
}

/* --- memory --- */

static const char *size_name(uint8_t code)
{
    static const char *const names[] = {
        [BPF_W >> 3] = "u32", [BPF_H >> 3] = "u16", [BPF_B >> 3] = "u8", [BPF_DW >> 3] = "u64"};
    return names[BPF_SIZE(code) >> 3];
}

/* "r6 + 112" */
static const char *address(char *text, size_t size, int base, int offset)
{
    snprintf(text, size, "r%d %c %d", base, offset < 0 ? '-' : '+', offset < 0 ? -offset : offset);
    return text;
}

static const char *atomic_name(int32_t operation)
{
    switch (operation & ~BPF_FETCH) {
    case BPF_ADD:
        return "add";
    case BPF_AND:
        return "and";
    case BPF_OR:
        return "or";
    case BPF_XOR:
        return "xor";
    default:
        return NULL;
    }
}

static void atomic(const struct place *place)
{
    const struct bpf_insn *i = place->instruction;
    bool wide = BPF_SIZE(i->code) == BPF_DW;
    const char *size = size_name(i->code), *name = atomic_name(i->imm);
    char to[32], r = wide ? 'r' : 'w';
    address(to, sizeof to, i->dst_reg, i->off);
    if (i->imm == BPF_XCHG)
        PRINT(place, "%c%d = xchg%s(%s, %c%d)", r, i->src_reg, wide ? "_64" : "32_32", to, r, i->src_reg);
    else if (i->imm == BPF_CMPXCHG)
        PRINT(place, "%c0 = cmpxchg%s(%s, %c0, %c%d)", r, wide ? "_64" : "32_32", to, r, r, i->src_reg);
    else if (!name)
        unknown(place);
    else if (i->imm & BPF_FETCH)
        PRINT(place, "%c%d = atomic_fetch_%s((%s *)(%s), %c%d)", r, i->src_reg, name, size, to, r, i->src_reg);
    else
        PRINT(place, "lock *(%s *)(%s) %s %c%d", size, to, alu_operators[i->imm >> 4], r, i->src_reg);
}

static void memory(const struct place *place)
{
    const struct bpf_insn *i = place->instruction;
    const char *size = size_name(i->code);
    uint8_t class = BPF_CLASS(i->code), mode = BPF_MODE(i->code);
    bool load = class == BPF_LDX;
    char at[32];
    address(at, sizeof at, load ? i->src_reg : i->dst_reg, i->off);
    if (load && mode == BPF_MEM)
        PRINT(place, "r%d = *(%s *)(%s)", i->dst_reg, size, at);
    else if (load && mode == LOAD_SIGNED)
        PRINT(place, "r%d = *(s%s *)(%s)", i->dst_reg, size + 1, at);
    else if (class == BPF_ST && mode == BPF_MEM)
        PRINT(place, "*(%s *)(%s) = %d", size, at, i->imm);
    else if (class == BPF_STX && mode == BPF_MEM)
        PRINT(place, "*(%s *)(%s) = r%d", size, at, i->src_reg);
    else if (class == BPF_STX && mode == BPF_ATOMIC)
        atomic(place);
    else
        unknown(place);
}

static void constant(const struct place *place)
{
    const struct bpf_insn *i = place->instruction;
    if (!place->reference)
        PRINT(place, "r%d = %lld ll", i->dst_reg, (long long)((uint64_t)(uint32_t)i[1].imm << 32 | (uint32_t)i->imm));
    else if (place->reference->kind == REFERENCE_MAP)
        PRINT(place, "r%d = map[%s]", i->dst_reg, place->reference->symbol);
    else if (place->reference->kind == REFERENCE_FUNCTION)
        PRINT(place, "r%d = &%s", i->dst_reg, place->reference->symbol);
    else
        PRINT(place, "r%d = &%s + %d", i->dst_reg, place->reference->symbol, i->imm);
}

/* --- control flow --- */

static void call(const struct place *place)
{
    const struct bpf_insn *i = place->instruction;
    const char *helper = i->src_reg ? NULL : disassemble_helper(i->imm);
    if (place->reference)
        PRINT(place, "call %s", place->reference->symbol);
    else if (helper)
        PRINT(place, "call bpf_%s", helper);
    else
        PRINT(place, "call %s%d", i->src_reg ? "function " : "", i->imm);
}

static void jump(const struct place *place)
{
    static const char *const comparisons[16] = {
        [BPF_JEQ >> 4] = "==",  [BPF_JNE >> 4] = "!=",   [BPF_JGT >> 4] = ">",   [BPF_JGE >> 4] = ">=",
        [BPF_JLT >> 4] = "<",   [BPF_JLE >> 4] = "<=",   [BPF_JSGT >> 4] = "s>", [BPF_JSGE >> 4] = "s>=",
        [BPF_JSLT >> 4] = "s<", [BPF_JSLE >> 4] = "s<=", [BPF_JSET >> 4] = "&",
    };
    const struct bpf_insn *i = place->instruction;
    bool narrow = BPF_CLASS(i->code) == BPF_JMP32;
    uint8_t operation = BPF_OP(i->code);
    int distance = operation == BPF_JA && narrow ? i->imm : i->off; /* gotol: 6.6 */
    long long to = (long long)place->at + 1 + distance;
    const char *comparison = comparisons[operation >> 4];
    char r = narrow ? 'w' : 'r';
    if (operation == BPF_JA)
        PRINT(place, "%s %+d <%lld>", narrow ? "gotol" : "goto", distance, to);
    else if (operation == JUMP_MAY_GOTO)
        PRINT(place, "may_goto %+d <%lld>", distance, to);
    else if (operation == BPF_EXIT)
        PRINT(place, "exit");
    else if (operation == BPF_CALL)
        call(place);
    else if (!comparison)
        unknown(place);
    else if (BPF_SRC(i->code) == BPF_X)
        PRINT(place, "if %c%d %s %c%d goto %+d <%lld>", r, i->dst_reg, comparison, r, i->src_reg, distance, to);
    else
        PRINT(place, "if %c%d %s %d goto %+d <%lld>", r, i->dst_reg, comparison, i->imm, distance, to);
}

/* What instruction AT refers to; NULL for nothing. References come in the order of the instructions. */
static const struct object_reference *find_reference(const struct object_program *program, size_t at)
{
    size_t low = 0, high = program->reference_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (program->references[middle].instruction < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < program->reference_count && program->references[low].instruction == at ? &program->references[low]
                                                                                        : NULL;
}

size_t disassemble(const struct object_program *program, size_t at, char *text, size_t size)
{
    static void (*const classes[8])(const struct place *) = {
        [BPF_LD] = constant,    [BPF_LDX] = memory, [BPF_ST] = memory,  [BPF_STX] = memory,
        [BPF_ALU] = arithmetic, [BPF_JMP] = jump,   [BPF_JMP32] = jump, [BPF_ALU64] = arithmetic,
    };
    struct place place = {.instruction = &program->instructions[at], .at = at, .text = text, .size = size};
    bool wide = place.instruction->code == (BPF_LD | BPF_IMM | BPF_DW) && at + 1 < program->instruction_count;
    place.reference = find_reference(program, at);
    if (!wide && BPF_CLASS(place.instruction->code) == BPF_LD)
        unknown(&place);
    else
        classes[BPF_CLASS(place.instruction->code)](&place);
    return wide ? 2 : 1;
}
