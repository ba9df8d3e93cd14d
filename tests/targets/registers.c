/*
 * Has all of the CPU's registers hold known numbers where probes can stand, 23 times, and prints a line for each of
 * these states, with the numbers in the order in which the CPU names its registers (arch_register_name), decimal:
 *
 *   entry      of known(), which begins with an instruction that the kernel emulates, and of late(), before that of
 *              which another one changes a register or the flags
 *   inside     of both: at the USDT probe app:known, where `watched` is written, and where the page of `fresh` is
 *              touched for the first time. 0 for what differs between these: the instruction's address
 *   return     of both; 0 for the register that returns go through, if there is one
 *   sample     in the loop of 300 ms that they pass the first time. 0 for what differs there: the instruction's
 *              address, the flags, and on aarch64 the register for addresses
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>

#include "../../examples/usdt.h"

enum { TIMES = 23, WORDS = 34, LOOP_US = 300000, PAGE = 4096 };

/* What is loaded at the entry, and inside; where the stack pointer was; and what the flags are. */
uint64_t outer[WORDS], inner[WORDS], stack, saved_link, outer_flags, inner_flags;
volatile long watched;
volatile int stop;
char fresh[2 * PAGE] __attribute__((aligned(PAGE)));
extern const char known[], late[], known_returned[], late_returned[];
void call_known(void), call_late(void);

#define GLOBAL(name) ".globl " name "\n.type " name ", %function\n" name ":\n"
#define END(name) ".size " name ", . - " name "\n"

#if defined(__x86_64__)

enum { REGISTERS = 18, STACK = 7, CODE = 16, FLAGS = 17, LINK = -1, PUSHED = 8 };

/* All but rsp, from TABLE; the flags first. */
#define LOAD(table)                                                                                                    \
    "pushq " table "_flags(%rip)\npopfq\n"                                                                             \
    "mov " table "+0(%rip), %rax\nmov " table "+8(%rip), %rbx\nmov " table "+16(%rip), %rcx\n"                         \
    "mov " table "+24(%rip), %rdx\nmov " table "+32(%rip), %rsi\nmov " table "+40(%rip), %rdi\n"                       \
    "mov " table "+48(%rip), %rbp\nmov " table "+64(%rip), %r8\nmov " table "+72(%rip), %r9\n"                         \
    "mov " table "+80(%rip), %r10\nmov " table "+88(%rip), %r11\nmov " table "+96(%rip), %r12\n"                       \
    "mov " table "+104(%rip), %r13\nmov " table "+112(%rip), %r14\nmov " table "+120(%rip), %r15\n"
#define SAVE                                                                                                           \
    "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"                                               \
    "mov %rsp, stack(%rip)\n"
#define RESTORE "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\ncld\nret\n"
#define CALL "call "
#define SPIN "1: cmpl $0, stop(%rip)\nje 1b\n"
#define TOUCH "movb $1, fresh(%rip)\nmov %rax, watched(%rip)\n"
#define BODY "pop %rax\n" LOAD("inner") SPIN LOAD("inner") TOUCH USDT("app", "known", "") "ret\n"
#define KNOWN "push %rbp\n" BODY
#define LATE "mov $1, %eax\npush %rbp\n" BODY

#else

enum { REGISTERS = 34, STACK = 31, CODE = 32, FLAGS = 33, LINK = 30, PUSHED = 0 };

#define ADDRESS(name) "adrp x30, " name "\nadd x30, x30, :lo12:" name "\n"
/* All but x30 and sp, from TABLE; the flags first. */
#define LOAD(table)                                                                                                    \
    ADDRESS(table "_flags")                                                                                            \
    "ldr x0, [x30]\nmsr nzcv, x0\n" ADDRESS(                                                                           \
        table) "ldp x0, x1, [x30]\nldp x2, x3, [x30, 16]\nldp x4, x5, [x30, 32]\nldp x6, x7, [x30, 48]\n"              \
               "ldp x8, x9, [x30, 64]\nldp x10, x11, [x30, 80]\nldp x12, x13, [x30, 96]\nldp x14, x15, [x30, 112]\n"   \
               "ldp x16, x17, [x30, 128]\nldp x18, x19, [x30, 144]\nldp x20, x21, [x30, 160]\nldp x22, x23, [x30, "    \
               "176]\n"                                                                                                \
               "ldp x24, x25, [x30, 192]\nldp x26, x27, [x30, 208]\nldp x28, x29, [x30, 224]\n"
#define SAVE                                                                                                           \
    "stp x29, x30, [sp, -96]!\nstp x19, x20, [sp, 16]\nstp x21, x22, [sp, 32]\nstp x23, x24, [sp, 48]\n"               \
    "stp x25, x26, [sp, 64]\nstp x27, x28, [sp, 80]\n" ADDRESS("stack") "mov x0, sp\nstr x0, [x30]\n"
#define RESTORE                                                                                                        \
    "ldp x27, x28, [sp, 80]\nldp x25, x26, [sp, 64]\nldp x23, x24, [sp, 48]\nldp x21, x22, [sp, 32]\n"                 \
    "ldp x19, x20, [sp, 16]\nldp x29, x30, [sp], 96\nret\n"
#define CALL "bl "
#define SPIN "1: " ADDRESS("stop") "ldr w30, [x30]\ncbz w30, 1b\n"
#define TOUCH ADDRESS("fresh") "strb wzr, [x30]\n" ADDRESS("watched") "str x0, [x30]\n"
#define LINK_KEPT "adrp x16, saved_link\nstr x30, [x16, :lo12:saved_link]\n"
#define BODY                                                                                                           \
    LINK_KEPT LOAD("inner") SPIN TOUCH ADDRESS("saved_link") "ldr x30, [x30]\n" USDT("app", "known", "") "ret\n"
#define KNOWN "b 2f\n2: " BODY
#define LATE "cmp x0, 5\nb 2f\n2: " BODY

#endif

/* call_NAME, which loads the registers and calls NAME; and NAME. */
#define FUNCTIONS(name, code)                                                                                          \
    __asm__(".text\n" GLOBAL("call_" name) SAVE LOAD("outer") CALL name                                                \
            "\n.globl " name "_returned\n" name "_returned:\n" RESTORE END("call_" name) GLOBAL(name) code END(name))
FUNCTIONS("known", KNOWN);
FUNCTIONS("late", LATE);

static void on_alarm(int number)
{
    (void)number;
    stop = 1;
}

/* A line STATE with TABLE's numbers, but for what is another's: 0 for the WITHOUT that are not -1. */
static void print(const char *state, const uint64_t *table, uint64_t sp, uint64_t link, const char *code,
                  uint64_t flags, const int *without)
{
    printf("%s", state);
    for (int i = 0; i < REGISTERS; i++) {
        uint64_t number = i == STACK   ? sp
                          : i == CODE  ? (uintptr_t)code
                          : i == FLAGS ? flags
                          : i == LINK  ? link
                                       : table[i];
        for (int n = 0; n < 3; n++)
            if (i == without[n])
                number = 0;
        printf(" %lld", (long long)number);
    }
    puts("");
}

static void print_all(const char *entry, const char *returned)
{
    static const int all[] = {-1, -1, -1}, inside[] = {CODE, -1, LINK}, at_return[] = {LINK, -1, -1},
                     sample[] = {CODE, FLAGS, LINK};
    uint64_t link = (uintptr_t)returned;
    print("entry", outer, stack - PUSHED, link, entry, outer_flags, all);
    print("inside", inner, stack - PUSHED, link, NULL, inner_flags, inside);
    print("return", inner, stack, link, returned, inner_flags, at_return);
    print("sample", inner, stack - PUSHED, link, NULL, inner_flags, sample);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 4096); /* a line is not torn by what uplua prints meanwhile */
    struct itimerval once = {.it_value = {.tv_usec = LOOP_US}};
    for (uint64_t i = 0; i < WORDS; i++) {
        outer[i] = 0x8123456789abcdef + i * 0x0101010101010107;
        inner[i] = 0x7edcba9876543210 - i * 0x0301010101010101;
    }
#if defined(__x86_64__)
    outer_flags = 0x202 | 1 | 4 | 0x40;        /* IF, which cannot be changed; CF, PF, ZF */
    inner_flags = 0x202 | 0x10 | 0x80 | 0x800; /* AF, SF, OF */
#else
    outer_flags = UINT64_C(6) << 28; /* Z, C */
    inner_flags = UINT64_C(9) << 28; /* N, V */
#endif
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &once, NULL);
    for (int i = 0; i < TIMES; i++) {
        call_known();
        if (i == 0)
            print_all(known, known_returned);
        call_late();
        if (i == 0)
            print_all(late, late_returned);
    }
    return 0;
}
