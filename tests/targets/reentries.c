/*
 * Functions that come to their own first instruction again, in each way: by a jump, a conditional one, two of them, one
 * that is the first instruction itself, a string instruction with a prefix that repeats it; and by a call, which is
 * one. A probe of `slides` and `slides_moved` is cheaper further in, behind a change of the stack pointer in the
 * latter; in `stays` no place before the jump is.
 *
 *   reentries [TIMES]    calls each TIMES times, 23; with the first argument 7, as which it goes round or calls
 */
#include <stdio.h>
#include <stdlib.h>

#define FUNCTION(name, code)                                                                                           \
    __asm__(".pushsection .text\n.globl " name "\n.type " name ", %function\n.balign 16\n" name ":\n" code             \
            "\n.size " name ", . - " name "\n.popsection\n");

#ifdef __x86_64__
FUNCTION("by_jump", "sub $1, %rdi\n je 1f\n jmp by_jump\n1: ret")
FUNCTION("by_condition", "sub $1, %rdi\n jne by_condition\n ret")
FUNCTION("by_two", "sub $1, %rdi\n je 1f\n jp by_two\n jnp by_two\n1: ret")
FUNCTION("far_away", "sub $1, %rdi\n je 1f\n .skip 200, 0x90\n jmp far_away\n1: ret")
FUNCTION("behind_push", "push %rbx\n pop %rbx\n sub $1, %rdi\n jne behind_push\n ret")
FUNCTION("slides", "mov %rdi, %rax\n push %rbx\n pop %rbx\n sub $1, %rdi\n jne slides\n ret")
FUNCTION("slides_moved", "mov %rdi, %rax\n sub $24, %rsp\n push %rbx\n pop %rbx\n add $24, %rsp\n sub $1, %rdi\n"
                         " jne slides_moved\n ret")
FUNCTION("stays", "mov %rdi, %rax\n sub $1, %rdi\n jne stays\n push %rbx\n pop %rbx\n ret")
FUNCTION("by_call", "sub $1, %rdi\n je 1f\n call by_call\n1: ret")
FUNCTION("by_both", "sub $1, %rdi\n je 2f\n test $1, %rdi\n jne by_both\n call by_both\n2: ret")
FUNCTION("in_itself", "loop in_itself\n ret")
FUNCTION("by_table", "sub $1, %rdi\n je 1f\n xor %edx, %edx\n lea 2f(%rip), %rax\n movslq (%rax,%rdx,4), %rcx\n"
                     " add %rax, %rcx\n jmp *%rcx\n1: ret\n.pushsection .rodata\n.balign 4\n"
                     "2: .long by_table - 2b, 1b - 2b\n.popsection")
FUNCTION("by_labels", "sub $1, %rdi\n je 1f\n xor %edx, %edx\n lea 2f(%rip), %rax\n jmp *8(%rax,%rdx,8)\n1: ret\n"
                      ".pushsection .data.rel.ro, \"aw\"\n.balign 8\n2: .quad 1b, by_labels\n.popsection")
FUNCTION("repeated", "rep stosb\n ret")
FUNCTION("found", "repne scasb\n ret")
#else
FUNCTION("by_jump", "sub x0, x0, 1\n cbz x0, 1f\n b by_jump\n1: ret")
FUNCTION("by_condition", "subs x0, x0, 1\n b.ne by_condition\n ret")
FUNCTION("by_two", "subs x0, x0, 1\n b.mi by_two\n cbnz x0, by_two\n ret")
FUNCTION("far_away", "sub x0, x0, 1\n cbz x0, 1f\n .rept 50\n nop\n .endr\n b far_away\n1: ret")
FUNCTION("behind_push", "str x30, [sp, -16]!\n ldr x30, [sp], 16\n sub x0, x0, 1\n cbnz x0, behind_push\n ret")
FUNCTION("slides", "mov x1, x0\n sub x0, x0, 1\n cbz x0, 1f\n b slides\n1: ret")
FUNCTION("slides_moved", "sub sp, sp, 32\n sub x0, x0, 1\n cbz x0, 1f\n add sp, sp, 32\n b slides_moved\n"
                         "1: add sp, sp, 32\n ret")
FUNCTION("stays", "mov x1, x0\n sub x0, x0, 1\n cbnz x0, stays\n ret")
FUNCTION("by_call", "sub x0, x0, 1\n cbz x0, 1f\n str x30, [sp, -16]!\n bl by_call\n ldr x30, [sp], 16\n1: ret")
FUNCTION("by_both", "sub x0, x0, 1\n cbz x0, 2f\n tbnz x0, 0, by_both\n str x30, [sp, -16]!\n bl by_both\n"
                    " ldr x30, [sp], 16\n2: ret")
#endif

long by_jump(long), by_condition(long), by_two(long), far_away(long), behind_push(long), by_call(long), by_both(long),
    slides(long), slides_moved(long), stays(long);

#ifdef __x86_64__
/* Calls FUNCTION with DI, CX and AX in the registers of that name. */
#define CALL(function, di, cx, ax)                                                                                     \
    do {                                                                                                               \
        long to = (long)(di), count = (cx), value = (ax);                                                              \
        __asm__ volatile("call " function : "+D"(to), "+c"(count), "+a"(value) : : "rdx", "memory", "cc");             \
    } while (0)
#endif

int main(int argc, char **argv)
{
    long (*const functions[])(long) = {by_jump, by_condition, by_two, far_away,     behind_push,
                                       by_call, by_both,      slides, slides_moved, stays};
    int times = argc > 1 ? atoi(argv[1]) : 23;
    for (int i = 0; i < times; i++) {
        for (size_t f = 0; f < sizeof(functions) / sizeof(*functions); f++)
            functions[f](7);
#ifdef __x86_64__
        static char buffer[64];
        CALL("in_itself", 7, 7, 0);
        CALL("by_table", 7, 0, 0);
        CALL("by_labels", 7, 0, 0);
        CALL("repeated", buffer, 7, 'a');
        buffer[5] = 'b';
        CALL("found", buffer, 64, 'b');
        CALL("found", buffer, 0, 'b');
#endif
    }
    return 0;
}
