/* BPF instructions as text, in the form of the kernel's verifier. */
#include "compile/machine/disassemble.h"

#include <stdio.h>

/* Newer than the headers of Linux 6.1. */
enum {
    LOAD_SIGNED = 0x80,   /* BPF_MEMSX, 6.6 */
    JUMP_MAY_GOTO = 0xe0, /* BPF_JCOND, 6.9 */
};

/* An instruction, and where its text goes. */
struct printer {
    const struct bpf_insn *instruction;
    const struct object_reference *reference;
    size_t at;
    char *text;
    size_t size;
};

#define PRINT(printer, ...) ((void)snprintf((printer)->text, (printer)->size, __VA_ARGS__))

static void unknown(const struct printer *printer)
{
    PRINT(printer, "unknown instruction 0x%02x", printer->instruction->code);
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

static void byte_order(const struct printer *printer)
{
    const struct bpf_insn *i = printer->instruction;
    const char *order = BPF_CLASS(i->code) == BPF_ALU64 ? "bswap" : BPF_SRC(i->code) == BPF_TO_BE ? "be" : "le";
    PRINT(printer, "r%d = %s%d r%d", i->dst_reg, order, i->imm, i->dst_reg);
}

static void arithmetic(const struct printer *printer)
{
    const struct bpf_insn *i = printer->instruction;
    char r = BPF_CLASS(i->code) == BPF_ALU64 ? 'r' : 'w';
    uint8_t operation = BPF_OP(i->code);
    const char *operator= alu_operators[operation >> 4], *sign = "", *cast = "";
    if (operation == BPF_END)
        return byte_order(printer);
    if (operation == BPF_NEG)
        return PRINT(printer, "%c%d = -%c%d", r, i->dst_reg, r, i->dst_reg);
    if (!operator)
        return unknown(printer);
    if (i->off == 1 && (operation == BPF_DIV || operation == BPF_MOD))
        sign = "s"; /* 6.6 */
    if (i->off && operation == BPF_MOV)
        cast = i->off == 8 ? "(s8)" : i->off == 16 ? "(s16)" : "(s32)"; /* 6.6 */
    if (BPF_SRC(i->code) == BPF_X)
        PRINT(printer, "%c%d %s%s %s%c%d", r, i->dst_reg, sign, operator, cast, r, i->src_reg);
    else
        PRINT(printer, "%c%d %s%s %d", r, i->dst_reg, sign, operator, i->imm);
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

static void atomic(const struct printer *printer)
{
    const struct bpf_insn *i = printer->instruction;
    bool wide = BPF_SIZE(i->code) == BPF_DW;
    const char *size = size_name(i->code), *name = atomic_name(i->imm);
    char to[32], r = wide ? 'r' : 'w';
    address(to, sizeof to, i->dst_reg, i->off);
    if (i->imm == BPF_XCHG)
        PRINT(printer, "%c%d = xchg%s(%s, %c%d)", r, i->src_reg, wide ? "_64" : "32_32", to, r, i->src_reg);
    else if (i->imm == BPF_CMPXCHG)
        PRINT(printer, "%c0 = cmpxchg%s(%s, %c0, %c%d)", r, wide ? "_64" : "32_32", to, r, r, i->src_reg);
    else if (!name)
        unknown(printer);
    else if (i->imm & BPF_FETCH)
        PRINT(printer, "%c%d = atomic_fetch_%s((%s *)(%s), %c%d)", r, i->src_reg, name, size, to, r, i->src_reg);
    else
        PRINT(printer, "lock *(%s *)(%s) %s %c%d", size, to, alu_operators[i->imm >> 4], r, i->src_reg);
}

static void memory(const struct printer *printer)
{
    const struct bpf_insn *i = printer->instruction;
    const char *size = size_name(i->code);
    uint8_t class = BPF_CLASS(i->code), mode = BPF_MODE(i->code);
    bool load = class == BPF_LDX;
    char at[32];
    address(at, sizeof at, load ? i->src_reg : i->dst_reg, i->off);
    if (load && mode == BPF_MEM)
        PRINT(printer, "r%d = *(%s *)(%s)", i->dst_reg, size, at);
    else if (load && mode == LOAD_SIGNED)
        PRINT(printer, "r%d = *(s%s *)(%s)", i->dst_reg, size + 1, at);
    else if (class == BPF_ST && mode == BPF_MEM)
        PRINT(printer, "*(%s *)(%s) = %d", size, at, i->imm);
    else if (class == BPF_STX && mode == BPF_MEM)
        PRINT(printer, "*(%s *)(%s) = r%d", size, at, i->src_reg);
    else if (class == BPF_STX && mode == BPF_ATOMIC)
        atomic(printer);
    else
        unknown(printer);
}

static void constant(const struct printer *printer)
{
    const struct bpf_insn *i = printer->instruction;
    if (!printer->reference)
        PRINT(printer, "r%d = %lld ll", i->dst_reg, (long long)((uint64_t)(uint32_t)i[1].imm << 32 | (uint32_t)i->imm));
    else if (printer->reference->kind == REFERENCE_MAP)
        PRINT(printer, "r%d = map[%s]", i->dst_reg, printer->reference->symbol);
    else if (printer->reference->kind == REFERENCE_FUNCTION)
        PRINT(printer, "r%d = &%s", i->dst_reg, printer->reference->symbol);
    else
        PRINT(printer, "r%d = &%s + %d", i->dst_reg, printer->reference->symbol, i->imm);
}

/* --- control flow --- */

static void call(const struct printer *printer)
{
    const struct bpf_insn *i = printer->instruction;
    const char *helper = i->src_reg ? NULL : disassemble_helper(i->imm);
    if (printer->reference)
        PRINT(printer, "call %s", printer->reference->symbol);
    else if (helper)
        PRINT(printer, "call bpf_%s", helper);
    else
        PRINT(printer, "call %s%d", i->src_reg ? "function " : "", i->imm);
}

static void jump(const struct printer *printer)
{
    static const char *const comparisons[16] = {
        [BPF_JEQ >> 4] = "==",  [BPF_JNE >> 4] = "!=",   [BPF_JGT >> 4] = ">",   [BPF_JGE >> 4] = ">=",
        [BPF_JLT >> 4] = "<",   [BPF_JLE >> 4] = "<=",   [BPF_JSGT >> 4] = "s>", [BPF_JSGE >> 4] = "s>=",
        [BPF_JSLT >> 4] = "s<", [BPF_JSLE >> 4] = "s<=", [BPF_JSET >> 4] = "&",
    };
    const struct bpf_insn *i = printer->instruction;
    bool narrow = BPF_CLASS(i->code) == BPF_JMP32;
    uint8_t operation = BPF_OP(i->code);
    int distance = operation == BPF_JA && narrow ? i->imm : i->off; /* gotol: 6.6 */
    long long to = (long long)printer->at + 1 + distance;
    const char *comparison = comparisons[operation >> 4];
    char r = narrow ? 'w' : 'r';
    if (operation == BPF_JA)
        PRINT(printer, "%s %+d <%lld>", narrow ? "gotol" : "goto", distance, to);
    else if (operation == JUMP_MAY_GOTO)
        PRINT(printer, "may_goto %+d <%lld>", distance, to);
    else if (operation == BPF_EXIT)
        PRINT(printer, "exit");
    else if (operation == BPF_CALL)
        call(printer);
    else if (!comparison)
        unknown(printer);
    else if (BPF_SRC(i->code) == BPF_X)
        PRINT(printer, "if %c%d %s %c%d goto %+d <%lld>", r, i->dst_reg, comparison, r, i->src_reg, distance, to);
    else
        PRINT(printer, "if %c%d %s %d goto %+d <%lld>", r, i->dst_reg, comparison, i->imm, distance, to);
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
    static void (*const classes[8])(const struct printer *) = {
        [BPF_LD] = constant,    [BPF_LDX] = memory, [BPF_ST] = memory,  [BPF_STX] = memory,
        [BPF_ALU] = arithmetic, [BPF_JMP] = jump,   [BPF_JMP32] = jump, [BPF_ALU64] = arithmetic,
    };
    struct printer printer = {.instruction = &program->instructions[at], .at = at, .text = text, .size = size};
    bool wide = printer.instruction->code == (BPF_LD | BPF_IMM | BPF_DW) && at + 1 < program->instruction_count;
    printer.reference = find_reference(program, at);
    if (!wide && BPF_CLASS(printer.instruction->code) == BPF_LD)
        unknown(&printer);
    else
        classes[BPF_CLASS(printer.instruction->code)](&printer);
    return wide ? 2 : 1;
}
