/* Operands of aarch64: x0, w1, 5, [sp, 24], [x1, x2, lsl 3], [x1, w2, sxtw 2]. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "arch/usdt.h"

enum { SP = 31, ZERO = 32 };

static const char *skip(const char *at)
{
    return at + strspn(at, " \t");
}

/* The register whose name begins at *AT: its number and whether its 64 bits or 32 are meant. */
static bool parse_register(const char **at, int *number, int *bits)
{
    static const struct {
        const char *name;
        int number, bits;
    } others[] = {{"sp", SP, 64},    {"wsp", SP, 32}, {"xzr", ZERO, 64},
                  {"wzr", ZERO, 32}, {"fp", 29, 64},  {"lr", 30, 64}};
    const char *name = *at;
    size_t length = 0;
    while (isalnum((unsigned char)name[length]))
        length++;
    *at = name + length;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i].name) == length && !memcmp(name, others[i].name, length)) {
            *number = others[i].number;
            *bits = others[i].bits;
            return true;
        }
    if ((*name != 'x' && *name != 'w') || length < 2 || length > 3 || !isdigit((unsigned char)name[1]) ||
        (length == 3 && (name[1] == '0' || !isdigit((unsigned char)name[2]))))
        return false;
    *number = atoi(name + 1);
    *bits = *name == 'x' ? 64 : 32;
    return *number <= 30;
}

static bool is_vector(const char *text)
{
    return *text && strchr("bhsdqvz", *text) && isdigit((unsigned char)text[1]);
}

/* A number with or without "#". */
static bool parse_number(const char **at, struct usdt_operand *operand)
{
    *at += **at == '#';
    return usdt_parse_sum(at, operand) && !operand->symbol;
}

/* ", lsl 3", ", sxtw 2", ", uxtw": how the index counts. BITS: of its register. */
static bool parse_extension(const char **at, struct usdt_operand *operand, int bits)
{
    static const struct {
        const char *name;
        int bits, of;
    } extensions[] = {{"lsl", 64, 64}, {"sxtx", 64, 64}, {"sxtw", -32, 32}, {"uxtw", 32, 32}};
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
        size_t length = strlen(extensions[i].name);
        if (strncmp(*at, extensions[i].name, length) || extensions[i].of != bits)
            continue;
        operand->index_bits = extensions[i].bits;
        *at = skip(*at + length);
        *at += **at == '#';
        if (**at >= '0' && **at <= '4' && !isdigit((unsigned char)(*at)[1]))
            operand->shift = (unsigned)(*(*at)++ - '0');
        return true;
    }
    return false;
}

/* "[x1]", "[x1, 8]", "[x1, x2, lsl 3]" */
static bool parse_address(const char *at, struct usdt_operand *operand)
{
    int number, bits;
    operand->place = USDT_MEMORY;
    at = skip(at + 1);
    if (!parse_register(&at, &number, &bits) || bits != 64 || number == ZERO)
        return false;
    operand->base = 8 * number;
    at = skip(at);
    if (*at == ',') {
        at = skip(at + 1);
        if (*at == 'x' || *at == 'w') {
            if (!parse_register(&at, &number, &bits) || number >= SP)
                return false;
            operand->index = 8 * number;
            operand->index_bits = 64;
            at = skip(at);
            if (bits != 64 && *at != ',')
                return false;
            if (*at == ',') {
                at = skip(at + 1);
                if (!parse_extension(&at, operand, bits))
                    return false;
            }
        } else if (!strncmp(at, "#:", 2) || *at == ':') {
            return usdt_nowhere(operand, "it lies at a symbol's address, of which the note tells a part only");
        } else if (!parse_number(&at, operand)) {
            return false;
        }
        at = skip(at);
    }
    return at[0] == ']' && !at[1];
}

bool usdt_parse_aarch64(const char *text, struct usdt_operand *operand)
{
    int number, bits;
    if (*text == '[')
        return parse_address(text, operand);
    if (*text == '#' || *text == '-' || isdigit((unsigned char)*text)) {
        operand->place = USDT_CONSTANT;
        return parse_number(&text, operand) && !*text;
    }
    if (is_vector(text))
        return usdt_nowhere(operand, "it is in a vector register, which the kernel does not show to probes");
    if (!parse_register(&text, &number, &bits) || *text)
        return false;
    if (number == ZERO) {
        operand->place = USDT_CONSTANT;
        return true;
    }
    return usdt_register(operand, 8 * number, bits);
}
