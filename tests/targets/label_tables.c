/*
 * Functions in assembly that go round by tables of jumps to a place right behind their first instruction: h1 by a table
 * of addresses beside one of distances, h2 by a table of addresses alone. Each is called 10 times, and goes round 3
 * times in each call.
 */
#include <stdio.h>

#if defined(__x86_64__)
long h1(long x, long n);
long h2(long x, long n);
__asm__(".intel_syntax noprefix\n"
        ".text\n"
        ".globl h1\n.type h1, @function\n"
        "h1: .cfi_startproc\n"
        "mov r8, rdi\n"
        ".Lmiddle1: mov rax, r8\n"
        "nop\n"
        "add rax, rsi\n"
        "and edi, 1\n"
        "lea r11, [rip + .Ldistances]\n"
        "movsxd r10, dword ptr [r11 + rdi * 4]\n"
        "add r10, r11\n"
        "jmp r10\n"
        ".La: dec rsi\n"
        "js .Lend\n"
        "xor ecx, ecx\n"
        "lea r11, [rip + .Laddresses1]\n"
        "jmp [r11 + rcx * 8]\n"
        ".Lb: dec rsi\n"
        "js .Lend\n"
        "xor ecx, ecx\n"
        "lea r11, [rip + .Laddresses1]\n"
        "jmp [r11 + rcx * 8]\n"
        ".Lend: ret\n"
        ".cfi_endproc\n"
        ".size h1, . - h1\n"
        ".globl h2\n.type h2, @function\n"
        "h2: .cfi_startproc\n"
        "mov r8, rdi\n"
        ".Lmiddle2: mov rax, r8\n"
        "nop\n"
        "add rax, rsi\n"
        "dec rsi\n"
        "js .Lend2\n"
        "xor ecx, ecx\n"
        "lea r11, [rip + .Laddresses2]\n"
        "jmp [r11 + rcx * 8]\n"
        ".Lend2: ret\n"
        ".cfi_endproc\n"
        ".size h2, . - h2\n"
        ".section .rodata\n.p2align 2\n"
        ".Ldistances: .long .La - .Ldistances, .Lb - .Ldistances\n"
        ".section .data.rel.ro.local, \"aw\"\n.p2align 3\n"
        ".Laddresses1: .quad .Lmiddle1\n"
        ".Laddresses2: .quad .Lmiddle2\n"
        ".text\n.att_syntax\n");
#else
long h1(long x, long n)
{
    return x + n;
}
long h2(long x, long n)
{
    return x - n;
}
#endif

int main(void)
{
    long sum = 0;
    for (int i = 0; i < 10; i++) {
        sum += h1(i, 3);
        sum += h2(i, 3);
    }
    printf("h1 10 h2 10 %ld\n", sum);
}
