/*
 * Calls functions around symbols without a size, 23 times each: those of libsizeless.so, and of its own `described`,
 * which call frame information tells the size of, and what lies behind it, whose symbol is removed.
 */
#include "noinline.h"

enum { CALLS = 23 };

#ifdef __x86_64__
asm(".text\n.globl described\n.type described, @function\ndescribed:\n.cfi_startproc\n"
    "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall *%rdi\nadd $8, %rsp\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n");
#else
asm(".text\n.globl described\n.type described, %function\ndescribed:\n.cfi_startproc\n"
    "stp x29, x30, [sp, #-16]!\n.cfi_def_cfa_offset 16\n.cfi_offset 29, -16\n.cfi_offset 30, -8\nblr x0\n"
    "ldp x29, x30, [sp], #16\n.cfi_restore 29\n.cfi_restore 30\n.cfi_def_cfa_offset 0\nret\n.cfi_endproc\n");
#endif

void described(void (*function)(void)), entry(void), entry_by_pointer(void);

static volatile long sink;

/* Its symbol is removed from the program. */
NOINLINE void removed(void (*function)(void))
{
    described(function);
    sink++;
}

NOINLINE void mark(void)
{
    sink++;
}

int main(void)
{
    for (int i = 0; i < CALLS; i++) {
        entry();
        entry_by_pointer();
        removed(mark);
    }
    return 0;
}
