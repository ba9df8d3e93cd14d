/*
 * Calls functions in whose place the kernel executes code of its own where they have probes, 2,003 times each:
 *
 *   stepped   begins with an instruction that the kernel copies, and executes there
 *   calling   the same of a call
 *   returned  its return, if a probe waits for it, goes through the kernel's code
 *   pushing   begins with an instruction that is as long as a breakpoint, and moves the stack pointer
 *   padded    begins with a nop of five bytes, which Linux 6.18 makes a call of the kernel's code
 *
 * "stepped wait" prints "ready" first, and begins at SIGUSR1.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "noinline.h"

enum { ROUNDS = 2003 };

#ifdef __x86_64__
#define FUNCTION(name, code)                                                                                           \
    ".text\n.globl " name "\n.type " name ", @function\n" name ":\n.cfi_startproc\n" code ".cfi_endproc\n"             \
    ".size " name ", . - " name "\n"
asm(FUNCTION("stepped", "sub $24, %rsp\n.cfi_adjust_cfa_offset 24\nmovl $1, 8(%rsp)\n"
                        "add $24, %rsp\n.cfi_adjust_cfa_offset -24\nret\n") FUNCTION("calling", "call *%rdi\nret\n")
        FUNCTION("quick", "ret\n")
            FUNCTION("pushing",
                     "push %rbx\n.cfi_adjust_cfa_offset 8\nmov $1, %ebx\npop %rbx\n.cfi_adjust_cfa_offset -8\nret\n")
                FUNCTION("padded", ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\nmov $1, %eax\nret\n"));
#else
#define FUNCTION(name, code)                                                                                           \
    ".text\n.globl " name "\n.type " name ", %function\n" name ":\n.cfi_startproc\n" code ".cfi_endproc\n"             \
    ".size " name ", . - " name "\n"
asm(FUNCTION("stepped", "sub sp, sp, #32\n.cfi_adjust_cfa_offset 32\nmov x9, #1\nstr x9, [sp, #8]\n"
                        "add sp, sp, #32\n.cfi_adjust_cfa_offset -32\nret\n") FUNCTION("calling", "br x0\n")
        FUNCTION("quick", "ret\n") FUNCTION("pushing", "str x19, [sp, #-16]!\n.cfi_adjust_cfa_offset 16\nmov x19, #1\n"
                                                       "ldr x19, [sp], #16\n.cfi_adjust_cfa_offset -16\nret\n")
            FUNCTION("padded", "nop\nmov w0, #1\nret\n"));
#endif

void stepped(void), calling(void (*function)(void)), quick(void), pushing(void), padded(void);

static volatile long sink;

NOINLINE long returned(long number)
{
    return sink += number;
}

static void on_signal(int number)
{
    (void)number;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "wait")) {
        sigset_t usr1, before;
        sigemptyset(&usr1);
        sigaddset(&usr1, SIGUSR1);
        sigprocmask(SIG_BLOCK, &usr1, &before);
        signal(SIGUSR1, on_signal);
        puts("ready");
        fflush(stdout);
        sigsuspend(&before);
    }
    for (int i = 0; i < ROUNDS; i++) {
        stepped();
        calling(quick);
        returned(i);
        pushing();
        padded();
    }
    puts("done");
    fflush(stdout);
    for (;;)
        pause(); /* it does not end while samples are taken, and its memory goes */
}
