/*
 * Holds one block by a pointer in a vector register alone, across a system call in which it sleeps: prints "ready" and
 * reads a byte; then allocates, prints "made", and reads another one so; then uses the block. x86_64.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "noinline.h"

NOINLINE char *kept(void)
{
    char *block = calloc(1, 72);
    memcpy(block, "KEPT", 4);
    return block;
}

/* What lies behind the block, so that it does not end where the heap's free part begins, to which malloc has a pointer.
 */
static void *volatile others[9];

int main(void)
{
    char byte;
    puts("ready");
    fflush(stdout);
    if (read(0, &byte, 1) != 1)
        return 1;
    uintptr_t pointer = (uintptr_t)kept();
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        others[i] = malloc(72 + 64 * i);
    puts("made");
    fflush(stdout);
    /* Nothing that the calls before have left, on the stack or in registers, leads to the block. */
    __asm__ volatile("movq %0, %%xmm7\n xor %0, %0" : "+r"(pointer) : : "xmm7");
    __asm__ volatile("mov $-4096, %%rcx\n 1: movq $0, (%%rsp, %%rcx)\n add $8, %%rcx\n jnz 1b" : : : "rcx", "memory");
    long result;
    __asm__ volatile("xor %%r8, %%r8\n xor %%r9, %%r9\n xor %%r10, %%r10\n xor %%r12, %%r12\n xor %%r13, %%r13\n"
                     "xor %%r14, %%r14\n xor %%r15, %%r15\n syscall"
                     : "=a"(result)
                     : "a"(0), "D"(0), "S"(&byte), "d"(1)
                     : "rcx", "r11", "r8", "r9", "r10", "r12", "r13", "r14", "r15", "memory");
    __asm__ volatile("movq %%xmm7, %0" : "=r"(pointer));
    printf("used %s\n", (char *)pointer);
    return result != 1;
}
