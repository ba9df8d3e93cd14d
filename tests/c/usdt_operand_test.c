/* Operands of USDT notes, of both CPUs on either: every form that compilers write, and strings that are damaged. */
#include <elf.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "arch/usdt.h"
#include "tap.h"

enum { X86 = EM_X86_64, ARM = EM_AARCH64 };

/* Places in the contexts: struct pt_regs, struct user_pt_regs. */
enum {
    R15 = 0,
    R14 = 8,
    R13 = 16,
    R12 = 24,
    RBP = 32,
    RBX = 40,
    R9 = 64,
    R8 = 72,
    RAX = 80,
    RCX = 88,
    RDX = 96,
    RSI = 104,
    RDI = 112,
    RSP = 152
};
enum { X0 = 0, X1 = 8, X2 = 16, X29 = 232, X30 = 240, SP = 248 };

static const struct {
    uint16_t machine;
    const char *text;
    enum usdt_place place;
    int bits, base;
    int64_t displacement;
    int index_bits, index;
    unsigned shift;
    const char *symbol;
    bool relative;
} good[] = {
    /* registers, of all sizes and signs */
    {X86, "8@%rax", USDT_REGISTER, 64, RAX, 0, 0, 0, 0, NULL, false},
    {X86, "-8@%rdi", USDT_REGISTER, -64, RDI, 0, 0, 0, 0, NULL, false},
    {X86, "4@%ebp", USDT_REGISTER, 32, RBP, 0, 0, 0, 0, NULL, false},
    {X86, "-4@%r14d", USDT_REGISTER, -32, R14, 0, 0, 0, 0, NULL, false},
    {X86, "2@%ax", USDT_REGISTER, 16, RAX, 0, 0, 0, 0, NULL, false},
    {X86, "-2@%r9w", USDT_REGISTER, -16, R9, 0, 0, 0, 0, NULL, false},
    {X86, "1@%sil", USDT_REGISTER, 8, RSI, 0, 0, 0, 0, NULL, false},
    {X86, "-1@%r15b", USDT_REGISTER, -8, R15, 0, 0, 0, 0, NULL, false},
    {X86, "1@%ah", USDT_REGISTER, 8, RAX + 1, 0, 0, 0, 0, NULL, false},
    {X86, "1@%bh", USDT_REGISTER, 8, RBX + 1, 0, 0, 0, 0, NULL, false},
    {X86, "1@%dh", USDT_REGISTER, 8, RDX + 1, 0, 0, 0, 0, NULL, false},
    {X86, "-4@%rbx", USDT_REGISTER, -32, RBX, 0, 0, 0, 0, NULL, false}, /* the low half */
    {X86, "-8@%r12d", USDT_REGISTER, -32, R12, 0, 0, 0, 0, NULL, false},
    {X86, "%rcx", USDT_REGISTER, -64, RCX, 0, 0, 0, 0, NULL, false},
    /* memory */
    {X86, "8@-80(%rbx)", USDT_MEMORY, 64, RBX, -80, 0, 0, 0, NULL, false},
    {X86, "-4@112(%rsp)", USDT_MEMORY, -32, RSP, 112, 0, 0, 0, NULL, false},
    {X86, "4@(%r12)", USDT_MEMORY, 32, R12, 0, 0, 0, 0, NULL, false},
    {X86, "2@0x12(%r8)", USDT_MEMORY, 16, R8, 18, 0, 0, 0, NULL, false},
    {X86, "-1@-1(%rsi)", USDT_MEMORY, -8, RSI, -1, 0, 0, 0, NULL, false},
    {X86, "8@8+8(%rdx)", USDT_MEMORY, 64, RDX, 16, 0, 0, 0, NULL, false},
    {X86, "4@8(%rax,%rcx,4)", USDT_MEMORY, 32, RAX, 8, 64, RCX, 2, NULL, false},
    {X86, "1@(%rax,%r15)", USDT_MEMORY, 8, RAX, 0, 64, R15, 0, NULL, false},
    {X86, "-8@-16(,%r13,8)", USDT_MEMORY, -64, -1, -16, 64, R13, 3, NULL, false},
    {X86, "2@(%rbp,%rsi,2)", USDT_MEMORY, 16, RBP, 0, 64, RSI, 1, NULL, false},
    {X86, "8@table(,%rdx,8)", USDT_MEMORY, 64, -1, 0, 64, RDX, 3, "table", false},
    {X86, "-4@NBuffers(%rip)", USDT_MEMORY, -32, -1, 0, 0, 0, 0, "NBuffers", true},
    {X86, "8@array+24(%rip)", USDT_MEMORY, 64, -1, 24, 0, 0, 0, "array", true},
    {X86, "8@24+array(%rip)", USDT_MEMORY, 64, -1, 24, 0, 0, 0, "array", true},
    {X86, "8@value.0-8(%rip)", USDT_MEMORY, 64, -1, -8, 0, 0, 0, "value.0", true},
    {X86, "4@counter", USDT_MEMORY, 32, -1, 0, 0, 0, 0, "counter", false},
    {X86, "4@0x601040", USDT_MEMORY, 32, -1, 0x601040, 0, 0, 0, NULL, false},
    /* constants, cut to their size */
    {X86, "-4@$-23", USDT_CONSTANT, -32, -1, -23, 0, 0, 0, NULL, false},
    {X86, "8@$0x17", USDT_CONSTANT, 64, -1, 23, 0, 0, 0, NULL, false},
    {X86, "1@$-1", USDT_CONSTANT, 8, -1, 255, 0, 0, 0, NULL, false},
    {X86, "-1@$255", USDT_CONSTANT, -8, -1, -1, 0, 0, 0, NULL, false},
    {X86, "-8@$-9223372036854775808", USDT_CONSTANT, -64, -1, INT64_MIN, 0, 0, 0, NULL, false},
    {X86, "8@$18446744073709551615", USDT_CONSTANT, 64, -1, -1, 0, 0, 0, NULL, false},
    {X86, "8@$message", USDT_CONSTANT, 64, -1, 0, 0, 0, 0, "message", false},

    {ARM, "8@x0", USDT_REGISTER, 64, X0, 0, 0, 0, 0, NULL, false},
    {ARM, "-8@x30", USDT_REGISTER, -64, X30, 0, 0, 0, 0, NULL, false},
    {ARM, "-4@w1", USDT_REGISTER, -32, X1, 0, 0, 0, 0, NULL, false},
    {ARM, "2@w2", USDT_REGISTER, 16, X2, 0, 0, 0, 0, NULL, false},
    {ARM, "-1@w29", USDT_REGISTER, -8, X29, 0, 0, 0, 0, NULL, false},
    {ARM, "-8@w2", USDT_REGISTER, -32, X2, 0, 0, 0, 0, NULL, false},
    {ARM, "8@sp", USDT_REGISTER, 64, SP, 0, 0, 0, 0, NULL, false},
    {ARM, "x1", USDT_REGISTER, -64, X1, 0, 0, 0, 0, NULL, false},
    {ARM, "4@wzr", USDT_CONSTANT, 32, -1, 0, 0, 0, 0, NULL, false},
    {ARM, "8@xzr", USDT_CONSTANT, 64, -1, 0, 0, 0, 0, NULL, false},
    {ARM, "-4@-23", USDT_CONSTANT, -32, -1, -23, 0, 0, 0, NULL, false},
    {ARM, "8@23", USDT_CONSTANT, 64, -1, 23, 0, 0, 0, NULL, false},
    {ARM, "1@#300", USDT_CONSTANT, 8, -1, 44, 0, 0, 0, NULL, false},
    {ARM, "8@[x0]", USDT_MEMORY, 64, X0, 0, 0, 0, 0, NULL, false},
    {ARM, "-4@[sp, 24]", USDT_MEMORY, -32, SP, 24, 0, 0, 0, NULL, false},
    {ARM, "-4@[sp,24]", USDT_MEMORY, -32, SP, 24, 0, 0, 0, NULL, false},
    {ARM, "2@[x29, -16]", USDT_MEMORY, 16, X29, -16, 0, 0, 0, NULL, false},
    {ARM, "-1@[x1, #8]", USDT_MEMORY, -8, X1, 8, 0, 0, 0, NULL, false},
    {ARM, "8@[x1, x2]", USDT_MEMORY, 64, X1, 0, 64, X2, 0, NULL, false},
    {ARM, "8@[x1, x2, lsl 3]", USDT_MEMORY, 64, X1, 0, 64, X2, 3, NULL, false},
    {ARM, "4@[x1, w2, sxtw 2]", USDT_MEMORY, 32, X1, 0, -32, X2, 2, NULL, false},
    {ARM, "4@[x1, w2, uxtw #2]", USDT_MEMORY, 32, X1, 0, 32, X2, 2, NULL, false},
    {ARM, "4@[x1, w2, uxtw]", USDT_MEMORY, 32, X1, 0, 32, X2, 0, NULL, false},
};

/* What is understood, and no handler can have. */
static const struct {
    uint16_t machine;
    const char *text, *why;
} refused[] = {
    {X86, "8f@%xmm0", "floating-point"},
    {X86, "4f@-8(%rbp)", "floating-point"},
    {X86, "-8f@%xmm12", "floating-point"},
    {X86, "8@%xmm0", "vector register"},
    {X86, "16@(%rsp)", "its size is another"},
    {X86, "-8@%fs:-8", "TLS"},
    {ARM, "8f@d0", "floating-point"},
    {ARM, "4f@[sp, 8]", "floating-point"},
    {ARM, "8@d31", "vector register"},
    {ARM, "16@[sp]", "its size is another"},
    {ARM, "4@[x0, #:lo12:table]", "a part only"},
};

static const struct {
    uint16_t machine;
    const char *text;
} damaged[] = {
    {X86, ""},
    {X86, "@"},
    {X86, "4@"},
    {X86, "4@%"},
    {X86, "4@%rxx"},
    {X86, "4@%eaxx"},
    {X86, "0@%eax"},
    {X86, "-@%eax"},
    {X86, "x@%eax"},
    {X86, "4x@%eax"},
    {X86, "99999@%eax"},
    {X86, "4@$"},
    {X86, "4@$5x"},
    {X86, "4@$a$b c"},
    {X86, "4@$99999999999999999999"},
    {X86, "4@("},
    {X86, "4@()"},
    {X86, "4@(%rax"},
    {X86, "4@(%rax,"},
    {X86, "4@(%rax,%rcx"},
    {X86, "4@(%rax,%rcx,"},
    {X86, "4@(%rax,%rcx,3)"},
    {X86, "4@(%rax,%rcx,16)"},
    {X86, "4@(%rax)x"},
    {X86, "4@(%eax)"},
    {X86, "4@8(%rip)"},
    {X86, "4@a+b(%rip)"},
    {X86, "4@-a(%rip)"},
    {X86, "4@a(%rip,%rax,4)"},
    {X86, "4@8 (%rax)"},
    {X86, "4@*(%rax)"},
    {X86, "4@%rax,%rcx"},
    {X86, "4@[sp, 8]"},
    {X86, "4@(%rax,%rcx, )"},
    {ARM, "4@"},
    {ARM, "4@%eax"},
    {ARM, "4@x31"},
    {ARM, "4@x01"},
    {ARM, "4@x"},
    {ARM, "4@w99"},
    {ARM, "4@[x0"},
    {ARM, "4@[]"},
    {ARM, "4@[w0]"},
    {ARM, "4@[xzr]"},
    {ARM, "4@[x0,]"},
    {ARM, "4@[x0, 8"},
    {ARM, "4@[x0, 8]x"},
    {ARM, "4@[x0, w1]"},
    {ARM, "4@[x0, x1, lsl 9]"},
    {ARM, "4@[x0, x1, sxtw 2]"},
    {ARM, "4@[x0, sp]"},
    {ARM, "4@[x0, x1, ]"},
    {ARM, "4@[x0, 8, 8]"},
    {ARM, "4@8x"},
    {0, "4@%eax"},
};

static void parses(size_t i)
{
    struct usdt_operand o = usdt_parse(good[i].machine, good[i].text);
    bool symbol = o.symbol ? good[i].symbol && o.symbol_length == strlen(good[i].symbol) &&
                                 !memcmp(o.symbol, good[i].symbol, o.symbol_length)
                           : !good[i].symbol;
    ok(o.place == good[i].place && o.bits == good[i].bits && o.base == good[i].base &&
           o.displacement == good[i].displacement && o.index_bits == good[i].index_bits &&
           (!o.index_bits || (o.index == good[i].index && o.shift == good[i].shift)) && symbol &&
           o.relative == good[i].relative,
       "%s: place %d, %d bits, base %d %+lld, index %d of %d bits << %u", good[i].text, o.place, o.bits, o.base,
       (long long)o.displacement, o.index, o.index_bits, o.shift);
}

static void splits(const char *text, const char *const *want)
{
    char *copy = strdup(text), *rest = copy, *operand;
    size_t n = 0;
    for (; (operand = usdt_next_operand(&rest)) && want[n]; n++)
        is_str(operand, want[n], "'%s': operand %zu", text, n);
    ok(!operand && !want[n], "'%s': that is all", text);
    free(copy);
}

/* Each character of what is right replaced by each other: nothing may crash, and what is taken stays inside of the
 * context. */
static void survives_damage(void)
{
    size_t tried = 0, outside = 0;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        for (size_t at = 0; good[i].text[at]; at++)
            for (int c = 1; c < 256; c++) {
                char text[64];
                snprintf(text, sizeof text, "%s", good[i].text);
                text[at] = (char)c;
                struct usdt_operand o = usdt_parse(good[i].machine, text);
                tried++;
                outside += o.base > SP || (o.index_bits && (o.index < 0 || o.index > SP)) || o.shift > 4 ||
                           (o.place != USDT_NOWHERE && (abs(o.bits) < 8 || abs(o.bits) > 64));
            }
    ok(tried > 100000, "%zu damaged operands", tried);
    is_int((int64_t)outside, 0, "none of them leads outside of the registers");
}

int main(void)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        parses(i);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct usdt_operand o = usdt_parse(refused[i].machine, refused[i].text);
        ok(o.place == USDT_NOWHERE && strstr(o.why, refused[i].why), "%s: %s", refused[i].text,
           o.why ? o.why : "taken");
    }
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        struct usdt_operand o = usdt_parse(damaged[i].machine, damaged[i].text);
        ok(o.place == USDT_NOWHERE && strstr(o.why, "does not understand"), "'%s' is not understood", damaged[i].text);
    }
    splits("", (const char *[]){NULL});
    splits("  ", (const char *[]){NULL});
    splits("8@%rax", (const char *[]){"8@%rax", NULL});
    splits("-4@%eax  8@-8(%rbp) 4@$5 ", (const char *[]){"-4@%eax", "8@-8(%rbp)", "4@$5", NULL});
    splits("8@[sp, 24] -4@[x1, x2, lsl 3] 4@w0", (const char *[]){"8@[sp, 24]", "-4@[x1, x2, lsl 3]", "4@w0", NULL});
    splits("8@[sp, 24", (const char *[]){"8@[sp, 24", NULL});
    survives_damage();

    static const char *const names[] = {"r15", "r12", "rbp", "rbx", "r8", "rax", "rcx", "rdx",
                                        "rsi", "rdi", "rsp", "rip", "x0", "x17", "x30", "sp"};
    size_t known = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[16];
        snprintf(text, sizeof text, arch_cpu.elf_machine == X86 ? "8@%%%s" : "8@%s", names[i]);
        struct usdt_operand o = usdt_parse(arch_cpu.elf_machine, text);
        if (arch_register(names[i]) < 0)
            continue;
        known++;
        is_int(o.base, arch_register(names[i]), "%s is where this machine's contexts have it", names[i]);
    }
    ok(known == 13 || known == 4, "%zu registers compared", known);
    return done_testing();
}
