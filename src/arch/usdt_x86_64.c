/* Operands in AT&T's syntax: %eax, $5, -8(%rbp), table+16(,%rcx,8), counter(%rip). */
#include <ctype.h>
#include <string.h>

#include "arch/usdt.h"

/* In the order of struct pt_regs (arch/x86/include/asm/ptrace.h), eight bytes each: the register and its lower
 * parts. */
static const char *const names[][4] = {
    {"r15", "r15d", "r15w", "r15b"},
    {"r14", "r14d", "r14w", "r14b"},
    {"r13", "r13d", "r13w", "r13b"},
    {"r12", "r12d", "r12w", "r12b"},
    {"rbp", "ebp", "bp", "bpl"},
    {"rbx", "ebx", "bx", "bl"},
    {"r11", "r11d", "r11w", "r11b"},
    {"r10", "r10d", "r10w", "r10b"},
    {"r9", "r9d", "r9w", "r9b"},
    {"r8", "r8d", "r8w", "r8b"},
    {"rax", "eax", "ax", "al"},
    {"rcx", "ecx", "cx", "cl"},
    {"rdx", "edx", "dx", "dl"},
    {"rsi", "esi", "si", "sil"},
    {"rdi", "edi", "di", "dil"},
    {NULL},
    {"rip", "eip", "ip", NULL},
    {NULL},
    {NULL},
    {"rsp", "esp", "sp", "spl"},
};
enum { REGISTERS = sizeof names / sizeof *names };

/* Bits 8 to 15. */
static const struct {
    const char *name;
    int offset;
} high_parts[] = {{"ah", 81}, {"ch", 89}, {"dh", 97}, {"bh", 41}};

/* The register whose name begins at *AT: its place and the bits that the name means. */
static bool parse_register(const char **at, int *offset, int *bits)
{
    size_t length = 0;
    if (**at != '%')
        return false;
    const char *name = *at + 1;
    while (isalnum((unsigned char)name[length]))
        length++;
    *at = name + length;
    for (int i = 0; i < REGISTERS; i++)
        for (int part = 0; part < 4; part++)
            if (names[i][part] && strlen(names[i][part]) == length && !memcmp(name, names[i][part], length)) {
                *offset = 8 * i;
                *bits = 64 >> part;
                return true;
            }
    for (size_t i = 0; i < sizeof high_parts / sizeof *high_parts; i++)
        if (length == 2 && !memcmp(name, high_parts[i].name, 2)) {
            *offset = high_parts[i].offset;
            *bits = 8;
            return true;
        }
    return false;
}

static bool is_vector(const char *text)
{
    return !strncmp(text, "%xmm", 4) || !strncmp(text, "%ymm", 4) || !strncmp(text, "%zmm", 4) ||
           !strncmp(text, "%mm", 3) || !strncmp(text, "%st", 3) || !strncmp(text, "%k", 2);
}

/* A register that an address is made of. */
static bool parse_part(const char **at, int *offset)
{
    int bits;
    return parse_register(at, offset, &bits) && bits == 64;
}

/* "(%rax,%rcx,8)", "(,%rcx,8)", "(%rip)" */
static bool parse_address(const char *at, struct usdt_operand *operand)
{
    operand->place = USDT_MEMORY;
    if (!*at)
        return true;
    if (*at++ != '(')
        return false;
    if (*at == '%' && !parse_part(&at, &operand->base))
        return false;
    operand->relative = operand->base == 8 * 16;
    if ((operand->relative && (!operand->symbol || *at == ',')) || (operand->base < 0 && *at != ','))
        return false;
    if (operand->relative)
        operand->base = -1;
    if (*at == ',') {
        at++;
        if (!parse_part(&at, &operand->index))
            return false;
        operand->index_bits = 64;
        if (*at == ',') {
            const char *scale = strchr("1 2 4 8", at[1]);
            if (!at[1] || at[1] == ' ' || !scale)
                return false;
            operand->shift = (unsigned)(scale - "1 2 4 8") / 2;
            at += 2;
        }
    }
    return at[0] == ')' && !at[1];
}

bool usdt_parse_x86_64(const char *text, struct usdt_operand *operand)
{
    int bits;
    if (is_vector(text))
        return usdt_nowhere(operand, "it is in a vector register, which the kernel does not show to probes");
    if (!strncmp(text, "%fs:", 4) || !strncmp(text, "%gs:", 4))
        return usdt_nowhere(operand, "it lies in the thread's own memory (TLS), which probes cannot find");
    if (*text == '%')
        return parse_register(&text, &operand->base, &bits) && !*text && usdt_register(operand, operand->base, bits);
    if (*text == '$') {
        text++;
        operand->place = USDT_CONSTANT;
        return usdt_parse_sum(&text, operand) && !*text;
    }
    if (*text != '(' && !usdt_parse_sum(&text, operand))
        return false;
    return parse_address(text, operand);
}
