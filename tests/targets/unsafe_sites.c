/*
 * Functions that an ill-placed probe would corrupt, and which tell by what they return: each adds 101 to a word. The
 * places are the labels NAME_at. On x86_64 `keeps` has the word below the stack pointer around a nop of five bytes, and
 * `copies` moves it by a vector instruction; on aarch64 `keeps` has it between an exclusive load and its store, and
 * `copies` and `compares` load constants that lie beside their code. Calls each 23 times and prints the sums; without
 * vector instructions 2,323.
 */
#include <stdio.h>

enum { CALLS = 23 };

#define FUNCTION(name, code)                                                                                           \
    long name(long word);                                                                                              \
    __asm__(".text\n.balign 4\n.globl " #name ", " #name "_at\n.type " #name ", %function\n" #name ":\n" code          \
            ".size " #name ", . - " #name "\n")

#if defined(__x86_64__)

FUNCTION(keeps, "movq %rdi, -8(%rsp)\n"
                "keeps_at: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
                "movq -8(%rsp), %rax\n"
                "addq $101, %rax\n"
                "ret\n");
FUNCTION(copies, "addq $101, %rdi\n"
                 "movq $0, -16(%rsp)\n"
                 "vmovq %rdi, %xmm0\n"
                 "copies_at: vmovdqu %xmm0, -16(%rsp)\n"
                 "movq -16(%rsp), %rax\n"
                 "ret\n");
/* Behind the vector instruction more than the kernel copies to where it steps one. */
FUNCTION(compares, "vxorps %xmm0, %xmm0, %xmm0\n"
                   "compares_at: vcmpps $0, %xmm0, %xmm0, %xmm1\n"
                   "leaq 100(%rdi), %rax\n"
                   "leaq 8(%rax), %rax\nleaq -8(%rax), %rax\nleaq 8(%rax), %rax\nleaq -8(%rax), %rax\n"
                   "vmovd %xmm1, %edx\n"
                   "negl %edx\n"
                   "addq %rdx, %rax\n"
                   "ret\n");
/* A function whose first instruction is one of these. */
FUNCTION(begins, "begins_at: vzeroupper\n"
                 "leaq 101(%rdi), %rax\n"
                 "ret\n");

static int has_vectors(void)
{
    return __builtin_cpu_supports("avx");
}
#elif defined(__aarch64__)
FUNCTION(keeps, "str x0, [sp, #-16]!\n"
                "mov x3, sp\n"
                "1: ldxr x1, [x3]\n"
                "keeps_at: add x1, x1, #101\n"
                "stxr w2, x1, [x3]\n"
                "cbnz w2, 1b\n"
                "ldr x0, [sp], #16\n"
                "ret\n");
FUNCTION(copies, "nop\n"
                 "copies_at: ldr d0, 1f\n"
                 "fmov x1, d0\n"
                 "add x0, x0, x1\n"
                 "ret\n"
                 ".balign 8\n1: .quad 101\n");
FUNCTION(compares, "nop\n"
                   "nop\n"
                   "compares_at: ldrsw x1, 1f\n"
                   "add x0, x0, x1\n"
                   "ret\n"
                   "1: .word 101\n");
/* A function whose first instruction is one of these. */
FUNCTION(begins, "begins_at: ldr s0, 1f\n"
                 "fmov w1, s0\n"
                 "add x0, x0, x1\n"
                 "ret\n"
                 "1: .word 101\n");

static int has_vectors(void)
{
    return 1;
}
#endif

int main(void)
{
    long sums[4] = {0};
    for (int i = 0; i < CALLS; i++) {
        sums[0] = keeps(sums[0]);
        sums[1] = has_vectors() ? copies(sums[1]) : sums[1] + 101;
        sums[2] = has_vectors() ? compares(sums[2]) : sums[2] + 101;
        sums[3] = has_vectors() ? begins(sums[3]) : sums[3] + 101;
    }
    printf("%ld %ld %ld %ld\n", sums[0], sums[1], sums[2], sums[3]);
    return 0;
}
