/*
 * Functions that an ill-placed probe would corrupt, and which tell by what they return: each adds 101 to a word. `keeps` has it below the stack
 * pointer around a nop of five bytes; `copies` moves it by a vector instruction. The places are the labels NAME_at. Calls each 23 times
 * and prints the sums; without vector instructions 2,323.
 */
#include <stdio.h>

enum { CALLS = 23 };

#ifdef __x86_64__
#define FUNCTION(name, code) \
    long name(long word);    \
    __asm__(".text\n.globl " #name ", " #name "_at\n.type " #name ", @function\n" #name ":\n" code ".size " #name ", . - " #name "\n")

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
#else
#define keeps(word) ((word) + 101)
#define copies(word) ((word) + 101)
#define compares(word) ((word) + 101)
#define begins(word) ((word) + 101)

static int has_vectors(void)
{
    return 0;
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
