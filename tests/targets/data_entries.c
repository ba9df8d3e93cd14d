/*
 * Functions in assembly that are called 23 times each, and that other code enters behind their first instruction 101
 * times, which only data knows of: an address in .data, in .data.rel.ro, in a packed structure, another function's
 * table of distances; or an instruction far away. `none` is entered by calls only. Prints what the functions have added
 * up.
 */
#include <stdio.h>

enum { CALLS = 23, ENTRIES = 101 };

#if defined(__x86_64__)
/* Adds 1 to r8, and 100 to what it had at the entry; goes back to where `enter` was called. */
#define FUNCTION(name)                                                                                                 \
    long name(long word);                                                                                              \
    __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                            \
            "lea 99(%rdi), %rdi\n"                                                                                     \
            ".Lmiddle_" #name ": mov %rdi, %rax\n"                                                                     \
            "nop\n"                                                                                                    \
            "add $1, %rax\n"                                                                                           \
            "ret\n"                                                                                                    \
            ".size " #name ", . - " #name "\n")

FUNCTION(in_data);
FUNCTION(in_constant);
FUNCTION(in_packed);
FUNCTION(in_table);
FUNCTION(in_code);
FUNCTION(none);

/* enter(number, word): goes on in the middle of function NUMBER. */
long enter(long number, long word);
__asm__(".text\n.p2align 4\n.globl enter\n.type enter, @function\nenter:\n"
        "mov %rdi, %rcx\n"
        "mov %rsi, %rdi\n"
        "cmp $4, %rcx\n"
        "je 1f\n"
        "lea .Lways(%rip), %rax\n"
        "movslq (%rax,%rcx,4), %rcx\n"
        "add %rax, %rcx\n"
        "jmp *%rcx\n"
        ".Lby_data: mov .Lin_data(%rip), %rcx\n"
        "jmp *%rcx\n"
        ".Lby_constant: mov .Lin_constant(%rip), %rcx\n"
        "jmp *%rcx\n"
        ".Lby_packed: mov .Lin_packed(%rip), %rcx\n"
        "jmp *%rcx\n"
        "1: lea .Lmiddle_in_code(%rip), %rcx\n"
        "jmp *%rcx\n"
        ".size enter, . - enter\n"
        ".section .rodata\n.p2align 2\n"
        ".Lways: .long .Lby_data - .Lways, .Lby_constant - .Lways, .Lby_packed - .Lways, .Lmiddle_in_table - .Lways\n"
        ".data\n.p2align 3\n"
        ".Lin_data: .quad .Lmiddle_in_data\n"
        ".section .data.rel.ro.local, \"aw\"\n.p2align 3\n"
        ".Lin_constant: .quad .Lmiddle_in_constant\n"
        ".data\n.p2align 3\n.byte 23\n"
        ".Lin_packed: .quad .Lmiddle_in_packed\n"
        ".text\n");
#else
#define FUNCTION(name)                                                                                                 \
    long name(long word)                                                                                               \
    {                                                                                                                  \
        return word + 100;                                                                                             \
    }
FUNCTION(in_data)
FUNCTION(in_constant)
FUNCTION(in_packed)
FUNCTION(in_table)
FUNCTION(in_code)
FUNCTION(none)
long enter(long number, long word)
{
    return number == 9 ? 0 : word + 1;
}
#endif

int main(void)
{
    long (*const all[])(long) = {in_data, in_constant, in_packed, in_table, in_code, none};
    long sum = 0;
    for (int i = 0; i < CALLS; i++)
        for (unsigned f = 0; f < sizeof all / sizeof *all; f++)
            sum += all[f](i);
    for (int i = 0; i < ENTRIES; i++)
        for (long f = 0; f < 5; f++)
            sum += enter(f, i);
    printf("%ld\n", sum);
}
