/*
 * Functions that take a time that they are told and measure themselves, for what uplua says of it: each of
 *
 *   emulated(ns)  whose first instruction the kernel emulates under a probe,
 *   stepped(ns)   whose first instruction it steps,
 *
 * 201 times with 0, 1,000, 10,000 and 100,000, in turn; they return how many ns passed between their first and their
 * last look at the clock.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "noinline.h"

enum { ROUNDS = 201 };

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

__attribute__((used)) static uint64_t spin(uint64_t ns)
{
    uint64_t start = now(), end = now();
    while (end - start < ns)
        end = now();
    return end - start;
}

uint64_t emulated(uint64_t ns);
uint64_t stepped(uint64_t ns);

#define FUNCTION(name, code)                                                                                           \
    __asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", %function\n" #name ":\n" code ".size " #name        \
            ", . - " #name "\n")
#if defined(__x86_64__)
FUNCTION(emulated, "push %rbp\ncall spin\npop %rbp\nret\n");
FUNCTION(stepped, "sub $8, %rsp\ncall spin\nadd $8, %rsp\nret\n");
#else
FUNCTION(emulated, "b 1f\n1: stp x29, x30, [sp, #-16]!\nbl spin\nldp x29, x30, [sp], #16\nret\n");
FUNCTION(stepped, "stp x29, x30, [sp, #-16]!\nbl spin\nldp x29, x30, [sp], #16\nret\n");
#endif

int main(void)
{
    static const uint64_t durations[] = {0, 1000, 10000, 100000};
    uint64_t sum = 0;
    for (int i = 0; i < ROUNDS; i++)
        for (unsigned d = 0; d < sizeof durations / sizeof *durations; d++)
            sum += emulated(durations[d]) + stepped(durations[d]);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
