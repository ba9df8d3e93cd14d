/*
 * Functions that end the program in their first instructions, each called 23 times, in a process of its own each time.
 * Behind that instruction stands one that the kernel emulates, and that no call reaches.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define AFTER "push %rbx\npop %rbx\nret\n"
#define EXIT "mov $60, %eax\nxor %edi, %edi\nsyscall\n"
#define KINDS(X)                                                                                                       \
    X(loads, "mov (%rdi), %rax\n")                                                                                     \
    X(stores, "mov %rsi, (%rdi)\n")                                                                                    \
    X(moves_and_loads, "mov %rdi, %rax\nsub $24, %rsp\nmov 8(%rax), %rdx\n")                                           \
    X(divides, "xor %ecx, %ecx\nxor %edx, %edx\ndiv %rcx\n")                                                           \
    X(undefined, "xor %eax, %eax\nud2\n")                                                                              \
    X(breaks, "xor %eax, %eax\nint3\n")                                                                                \
    X(leaves, EXIT)                                                                                                    \
    X(writes_code, "mov %rdi, crash_writes_code(%rip)\n")                                                              \
    X(writes_constant, "mov %rdi, constant(%rip)\n")                                                                   \
    X(writes_constant_by_register, "lea constant(%rip), %rax\nmov %rdi, (%rax)\n")                                     \
    X(loads_of_thread, "mov $-0x123456789, %rax\nmov %fs:(%rax), %rdx\n")                                              \
    X(loads_far_below, "mov -0x7000000(%rsp), %rax\n")                                                                 \
    X(loads_by_index, "mov (%rsp, %rsi, 8), %rax\n")                                                                   \
    X(copies, "xor %eax, %eax\nmov $9, %ecx\nrep stosq\n")
#else
#define AFTER "b 1f\n1: ret\n"
#define EXIT "mov x8, 93\nmov x0, 0\nsvc 0\n"
#define KINDS(X)                                                                                                       \
    X(loads, "ldr x2, [x0]\n")                                                                                         \
    X(stores, "str x1, [x0]\n")                                                                                        \
    X(moves_and_loads, "mov x2, x0\nsub sp, sp, 32\nldr x3, [x2, 8]\n")                                                \
    X(undefined, "mov x2, 0\nudf 0\n")                                                                                 \
    X(breaks, "mov x2, 0\nbrk 1\n")                                                                                    \
    X(leaves, EXIT)                                                                                                    \
    X(loads_by_index, "ldr x2, [sp, x1, lsl 3]\n")                                                                     \
    X(loads_pair, "mov x2, x0\nldp x3, x4, [x2], 16\n")
#endif

__asm__(".section .rodata\n.globl constant\nconstant: .quad 0\n.text\n");
#define DEFINE(name, code)                                                                                             \
    __asm__(".text\n.globl crash_" #name "\n.type crash_" #name ", %function\ncrash_" #name ":\n" code AFTER           \
            ".size crash_" #name ", . - crash_" #name "\n");                                                           \
    void crash_##name(uintptr_t, uintptr_t);
KINDS(DEFINE)

#define LIST(name, code) {#name, crash_##name},
static const struct {
    const char *name;
    void (*call)(uintptr_t, uintptr_t);
} kinds[] = {KINDS(LIST)};

int main(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int ended = 0;
        for (int n = 0; n < 23; n++) {
            int status;
            pid_t child = fork();
            if (child == 0) {
                kinds[i].call(8, UINT64_C(0x100000000000));
                _exit(42); /* it came back */
            }
            ended += waitpid(child, &status, 0) == child && !(WIFEXITED(status) && WEXITSTATUS(status) == 42);
        }
        printf("%s %d\n", kinds[i].name, ended);
    }
    return 0;
}
