/*
 * Functions whose frames are found by registers that no call keeps. Each asks the kernel for the parent's number, by a
 * system call of its own, 23 times below a function and main, which have frame pointers.
 *
 *   held register   its return address is in a register, as in glibc's vfork
 *   held base       its frame is found by one
 *   held fault      as the first, but an invalid instruction takes the place of the call: its handler asks
 *   held lost       its call frame information says what no walk follows
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "noinline.h"

enum { CALLS = 23 };

#ifdef __x86_64__
#define BEGIN(name) ".text\n.globl " name "\n.type " name ", @function\n" name ":\n.cfi_startproc\n"
#define END(name) ".cfi_endproc\n.size " name ", . - " name "\n"
#define ASK "mov $110, %eax\nsyscall\n" /* SYS_getppid */
#define HOLD "pop %rdx\n.cfi_adjust_cfa_offset -8\n.cfi_register %rip, %rdx\n"
#define BACK "push %rdx\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rip, -8\nret\n"
asm(BEGIN("in_register") HOLD ASK BACK END("in_register")
        BEGIN("by_base") "lea 8(%rsp), %r10\n.cfi_def_cfa %r10, 0\nand $-64, %rsp\n" ASK
                         "lea -8(%r10), %rsp\n.cfi_def_cfa %rsp, 8\nret\n" END("by_base") BEGIN("faults") HOLD
    "ud2\n" BACK END("faults")
    /* the CFA is read from memory twice */
    BEGIN("unfollowed") ".cfi_escape 0x0f, 4, 0x77, 0, 0x06, 0x06\n" ASK "ret\n" END("unfollowed"));
#define INVALID_SIZE 2
#define INSTRUCTION(context) ((context)->uc_mcontext.gregs[REG_RIP])
#else
#define BEGIN(name) ".text\n.globl " name "\n.type " name ", %function\n" name ":\n.cfi_startproc\n"
#define END(name) ".cfi_endproc\n.size " name ", . - " name "\n"
#define ASK "mov x8, #173\nsvc #0\n"
#define HOLD "mov x15, x30\n.cfi_register 30, 15\nmov x30, xzr\n"
#define BACK "mov x30, x15\n.cfi_restore 30\nret\n"
asm(BEGIN("in_register") HOLD ASK BACK END("in_register")
        BEGIN("by_base") "mov x10, sp\n.cfi_def_cfa 10, 0\nsub sp, sp, #64\n" ASK
                         "mov sp, x10\n.cfi_def_cfa 31, 0\nret\n" END("by_base") BEGIN("faults") HOLD
    "udf #0\n" BACK END("faults")
        BEGIN("unfollowed") ".cfi_escape 0x0f, 4, 0x8f, 0, 0x06, 0x06\nmov x9, x30\nmov x30, xzr\n" ASK
                            "mov x30, x9\nret\n" END("unfollowed"));
#define INVALID_SIZE 4
#define INSTRUCTION(context) ((context)->uc_mcontext.pc)
#endif

void in_register(void), by_base(void), faults(void), unfollowed(void);

static volatile long sink;

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    sink += syscall(SYS_getppid);
    INSTRUCTION((ucontext_t *)context) += INVALID_SIZE;
}

NOINLINE void calls(void (*function)(void))
{
    for (int i = 0; i < CALLS; i++)
        function();
    sink++;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    const char *kind = argc > 1 ? argv[1] : "";
    sigaction(SIGILL, &action, NULL);
    calls(!strcmp(kind, "register") ? in_register
          : !strcmp(kind, "base")   ? by_base
          : !strcmp(kind, "fault")  ? faults
                                    : unfollowed);
    return 0;
}
