/*
 * A function that is left by going on on another stack, and comes back to it: `before` is called 1,000 times, then
 * `yields` 23 times on each of two stacks, in turn, and `after` 1,000 times. Each returns what it was given, `yields`
 * 100 times that; the sum is printed. `passes` jumps to `after` at its end, 7 times more; `returns`, whose first
 * instruction is its last one, is called 101 times.
 */
#include <stdio.h>
#include <ucontext.h>

#include "noinline.h"

enum { CALLS = 1000, TURNS = 23, JUMPS = 7, RETURNS = 101, STACK = 65536 };

static ucontext_t program, contexts[2];
static char stacks[2][STACK];
static long sum;

NOINLINE long before(long x)
{
    __asm__ volatile("" : : "r"(x));
    return x;
}

NOINLINE long after(long x)
{
    __asm__ volatile("" : : "r"(x));
    return x;
}

NOINLINE long yields(long number)
{
    __asm__ volatile("" : : "r"(number));
    swapcontext(&contexts[number], &contexts[!number]);
    __asm__ volatile("");
    return number * 100;
}

/* As compilers make it of `return after(x)`. */
long passes(long x);
#if defined(__x86_64__)
__asm__(".text\n.globl passes\n.type passes, @function\npasses:\n"
        "test %rdi, %rdi\njne after\nret\n.size passes, . - passes\n");
#else
__asm__(".text\n.globl passes\n.type passes, %function\npasses:\n"
        "cbz x0, 1f\nb after\n1: ret\n.size passes, . - passes\n");
#endif

long returns(long x);
__asm__(".text\n.globl returns\n.type returns, %function\nreturns:\nret\n.size returns, . - returns\n");

static void run(int number)
{
    for (int i = 0; i < TURNS; i++)
        sum += yields(number);
    swapcontext(&contexts[number], number ? &program : &contexts[1]);
}

static void first(void)
{
    run(0);
}

static void second(void)
{
    run(1);
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = STACK;
        contexts[i].uc_link = &program;
        makecontext(&contexts[i], i ? second : first, 0);
    }
    for (int i = 0; i < CALLS; i++)
        sum += before(1);
    swapcontext(&program, &contexts[0]);
    for (int i = 0; i < CALLS; i++)
        sum += after(1);
    for (int i = 0; i < JUMPS; i++)
        sum += passes(1);
    for (int i = 0; i < RETURNS; i++)
        returns(1);
    printf("sum %ld\n", sum);
    return 0;
}
