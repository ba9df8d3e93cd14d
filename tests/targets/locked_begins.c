/*
 * Functions in assembly whose first instruction has a lock prefix, each called 23 times with the address of a word and
 * with i. Prints the word and the sum of what they return.
 *
 *   pushes    a push follows, which the kernel emulates
 *   fetches   the instruction overwrites the second argument
 *   spins     jumps to its first instruction: goes round 3 times
 *   shared    `enter` jumps to what follows its first instruction, 101 times
 *   adds_all  a string instruction follows, which goes round in itself
 */
#include <stdio.h>

enum { CALLS = 23, ENTRIES = 101 };

#if defined(__x86_64__)
#define FUNCTION(name, code)                                                                                           \
    long name(long *word, long i);                                                                                     \
    __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" code ".size " #name        \
            ", . - " #name "\n")

FUNCTION(pushes, "lock addq $1, (%rdi)\n"
                 "push %rbx\n"
                 "mov %rsi, %rbx\n"
                 "mov %rbx, %rax\n"
                 "pop %rbx\n"
                 "ret\n");
FUNCTION(fetches, "lock xaddq %rsi, (%rdi)\n"
                  "mov %rsi, %rax\n"
                  "ret\n");
FUNCTION(spins, "lock addq $1, (%rdi)\n"
                "mov (%rdi), %rax\n"
                "xor %edx, %edx\n"
                "mov $3, %ecx\n"
                "div %rcx\n"
                "test %rdx, %rdx\n"
                "jne spins\n"
                "xor %eax, %eax\n"
                "ret\n");
FUNCTION(shared, "lock addq $1, (%rdi)\n"
                 ".Lshared: mov %rsi, %rax\n"
                 "ret\n");
FUNCTION(adds_all, "lock addq $1, (%rdi)\n"
                   "rep stosb\n"
                   "ret\n");
FUNCTION(enter, "cmp $1000, %rsi\n"
                "jne .Lshared\n"
                "ret\n");
#else
#define FUNCTION(name)                                                                                                 \
    long name(long *word, long i)                                                                                      \
    {                                                                                                                  \
        return *word += i;                                                                                             \
    }
FUNCTION(pushes)
FUNCTION(fetches)
FUNCTION(spins)
FUNCTION(shared)
FUNCTION(enter)
#endif

int main(void)
{
    long word = 0, sum = 0, turns = 0;
    for (long i = 0; i < CALLS; i++) {
        sum += pushes(&word, i) + fetches(&word, i) + shared(&word, i);
        sum += spins(&turns, i);
    }
    for (long i = 0; i < ENTRIES; i++)
        sum += enter(&word, i);
    printf("%ld %ld %ld\n", word, turns, sum);
}
