/* What the operands of all CPUs have in common: "-4@", sums of numbers and a symbol. */
#include "arch/usdt.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

char *usdt_next_operand(char **rest)
{
    char *start = *rest + strspn(*rest, " \t\n"), *at = start;
    /* Operands of aarch64 have spaces inside of brackets: "8@[sp, 24]". */
    for (int depth = 0; *at && (depth > 0 || !isspace((unsigned char)*at)); at++)
        depth += *at == '[' || *at == '(' ? 1 : *at == ']' || *at == ')' ? -1 : 0;
    if (at == start)
        return NULL;
    *rest = *at ? at + 1 : at;
    *at = '\0';
    return start;
}

bool usdt_nowhere(struct usdt_operand *operand, const char *why)
{
    operand->place = USDT_NOWHERE;
    operand->why = why;
    return true;
}

bool usdt_register(struct usdt_operand *operand, int base, int bits)
{
    operand->place = USDT_REGISTER;
    operand->base = base;
    /* The rest of the register is not the argument's, whatever its size is said to be. */
    if (abs(operand->bits) > bits)
        operand->bits = operand->bits < 0 ? -bits : bits;
    return true;
}

static bool is_symbol(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$' || c == '@';
}

bool usdt_parse_sum(const char **at, struct usdt_operand *operand)
{
    for (bool first = true;; first = false) {
        bool negative = **at == '-', sign = negative || **at == '+';
        if (!first && !sign)
            return true;
        *at += sign;
        if (isdigit((unsigned char)**at)) {
            char *end;
            errno = 0;
            uint64_t number = strtoull(*at, &end, 0);
            if (errno)
                return false;
            *at = end;
            operand->displacement = (int64_t)((uint64_t)operand->displacement + (negative ? -number : number));
        } else if (is_symbol(**at) && **at != '@' && !negative && !operand->symbol) {
            operand->symbol = *at;
            while (is_symbol(**at))
                ++*at;
            operand->symbol_length = (size_t)(*at - operand->symbol);
        } else {
            return false;
        }
    }
}

/* "-4@": what stands behind it; NULL where it is damaged. Without it the operand has the size of a register. */
static const char *parse_size(const char *text, struct usdt_operand *operand, bool *is_float)
{
    const char *at = strchr(text, '@');
    operand->bits = -64;
    *is_float = false;
    /* sym@GOTPCREL(%rip) has one of another meaning. */
    if (!at || !(isdigit((unsigned char)text[0]) || (text[0] == '-' && isdigit((unsigned char)text[1]))))
        return text;
    char *end;
    long size = strtol(text, &end, 10);
    *is_float = *end == 'f';
    end += *is_float;
    if (end != at)
        return NULL;
    if (size < 0 ? size < -64 : size < 1 || size > 64)
        return NULL;
    operand->bits = (int)size * 8;
    return at + 1;
}

/* A constant as its size and sign have it. */
static int64_t cut(int64_t number, int bits)
{
    unsigned unused = 64 - (unsigned)abs(bits);
    uint64_t left = (uint64_t)number << unused;
    return bits < 0 ? (int64_t)left >> unused : (int64_t)(left >> unused);
}

struct usdt_operand usdt_parse(uint16_t machine, const char *text)
{
    struct usdt_operand operand = {.base = -1};
    bool is_float;
    const char *rest = strlen(text) > USDT_MAX_OPERAND ? NULL : parse_size(text, &operand, &is_float);
    bool known = rest && (machine == EM_X86_64 ? usdt_parse_x86_64(rest, &operand)
                                               : machine == EM_AARCH64 && usdt_parse_aarch64(rest, &operand));
    if (!known) {
        usdt_nowhere(&operand, "the program's note describes it in a way that uplua does not understand");
    } else if (is_float) {
        usdt_nowhere(&operand, "it is a floating-point number, with which handlers cannot compute");
    } else if (operand.place != USDT_NOWHERE) {
        int bits = abs(operand.bits);
        if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
            usdt_nowhere(&operand, "handlers have integers of 1, 2, 4 and 8 bytes, and its size is another");
        else if (operand.place == USDT_CONSTANT && !operand.symbol)
            operand.displacement = cut(operand.displacement, operand.bits);
    }
    return operand;
}
