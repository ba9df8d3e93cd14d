/*
 * Functions that begin in each way that matters to where a probe is put; each is called a known, prime number of times.
 *
 *   sites [wait]     with "wait" it prints "ready PID" first and waits for a byte on stdin
 *
 *   tested(NULL)          23 times, tested(text) 101 times: begins as free does, with a test and a jump past all the
 *                         rest
 *   looping(5)            23 times: its loop goes back to its second instruction
 *   two_ways(7)           23 times, and 101 times through other_way(7), which jumps to its second instruction
 *   switched(0 … 22)      23 times
 *   plain(1, 2, 3)       101 times
 *   ns::Klass::f(int)     23 times, ns::Klass::f(long) 101 times and ns::Klass::g() 7 times, called by their symbols
 *   first and second, into which inlined() is inlined, 23 and 101 times; alias is another name of second
 *   setjmp through again()  23 times
 *   strlen of 2,311 characters 23 times, memcpy of 2,311 bytes 101 times
 *   free(NULL)            23 times, and malloc(12347) with free() 101 times
 *
 * Prints the sum of what they return, and the address of each function.
 */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "noinline.h"

long tested(const char *text), looping(long n), two_ways(long n), other_way(long n);

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl tested, looping, two_ways, other_way\n"
        ".type tested, @function\n.type looping, @function\n.type two_ways, @function\n.type other_way, @function\n"
        "tested: test %rdi, %rdi\n je 1f\n push %rbx\n movzbl (%rdi), %eax\n pop %rbx\n ret\n1: xor %eax, %eax\n ret\n"
        ".size tested, .-tested\n"
        "looping: xor %eax, %eax\n1: cmp %rax, %rdi\n je 2f\n inc %rax\n jmp 1b\n2: ret\n"
        ".size looping, .-looping\n"
        "two_ways: mov $2, %eax\n.Linside: cmp $7, %rdi\n jne 1f\n add %rdi, %rax\n1: ret\n"
        ".size two_ways, .-two_ways\n"
        "other_way: mov $3, %eax\n jmp .Linside\n"
        ".size other_way, .-other_way\n");
#else
__asm__(".text\n"
        ".globl tested, looping, two_ways, other_way\n"
        ".type tested, %function\n.type looping, %function\n.type two_ways, %function\n.type other_way, %function\n"
        "tested: cmp x0, #0\n b.eq 1f\n ldrb w0, [x0]\n1: ret\n"
        ".size tested, .-tested\n"
        "looping: mov x1, #0\n1: cmp x1, x0\n b.eq 2f\n add x1, x1, #1\n b 1b\n2: mov x0, x1\n ret\n"
        ".size looping, .-looping\n"
        "two_ways: mov x1, #2\n.Linside: cmp x0, #7\n b.ne 1f\n add x1, x1, x0\n1: mov x0, x1\n ret\n"
        ".size two_ways, .-two_ways\n"
        "other_way: mov x1, #3\n b .Linside\n"
        ".size other_way, .-other_way\n");
#endif

NOINLINE long switched(long n)
{
    switch (n) {
    case 0:
        return 12;
    case 1:
        return 31;
    case 2:
        return fputs("", stdout) * 0; /* a call that prints nothing: a line would look like the end */
    case 3:
        return getpid() * 0;
    case 4:
        return 5;
    case 5:
        return getppid() * 0;
    default:
        return n;
    }
}

NOINLINE long plain(long a, long b, long c)
{
    __asm__ volatile("");
    return a + b + c;
}

/* As a C++ compiler names its methods. */
long klass_f_int(int) __asm__("_ZN2ns5Klass1fEi");
long klass_f_long(long) __asm__("_ZN2ns5Klass1fEl");
long klass_g(void) __asm__("_ZN2ns5Klass1gEv");

NOINLINE long klass_f_int(int n)
{
    __asm__ volatile("");
    return n * 3;
}

NOINLINE long klass_f_long(long n)
{
    __asm__ volatile("");
    return n * 5;
}

NOINLINE long klass_g(void)
{
    __asm__ volatile("");
    return 1;
}

static inline __attribute__((always_inline)) long inlined(volatile long *n)
{
    return *n * 7; /* the inlined line */
}

NOINLINE long first(long n)
{
    volatile long copy = n;
    long result = inlined(&copy);
    return result + 1; /* the line of first */
}

NOINLINE long second(long n)
{
    volatile long copy = n + 1;
    return inlined(&copy);
}

long alias(long n) __attribute__((alias("second")));

static jmp_buf place;

NOINLINE long again(long n)
{
    if (setjmp(place))
        return n;
    longjmp(place, 1);
}

/* Through pointers, so that the compiler cannot do it itself. */
static size_t (*volatile length_of)(const char *) = strlen;
static void *(*volatile copy_to)(void *, const void *, size_t) = memcpy;

int main(int argc, char **argv)
{
    static char text[2312], copy[2312];

    memset(text, '!', 2311);
    long sum = 0;
    void *volatile none = NULL;

    setbuf(stdout, NULL);
    if (argc > 1 && !strcmp(argv[1], "wait")) {
        char byte;
        printf("ready %d\n", (int)getpid());
        if (read(0, &byte, 1) < 0)
            return 1;
    }
    for (int i = 0; i < 23; i++) {
        sum += tested(NULL) + looping(5) + two_ways(7) + switched(i) + klass_f_int(1) + first(1) + again(1);
        free(none);
        sum += (long)length_of(text) - 2311;
    }
    for (int i = 0; i < 101; i++) {
        sum += tested("!") + other_way(7) + plain(1, 2, 3) + klass_f_long(1) + second(1) + (i < 7 ? klass_g() : 0);
        void *volatile block = malloc(12347);
        free(block);
        copy_to(copy, text, 2311);
    }
    printf("sum %ld\n", sum);
    printf("tested %p looping %p two_ways %p switched %p plain %p\n", (void *)(uintptr_t)tested,
           (void *)(uintptr_t)looping, (void *)(uintptr_t)two_ways, (void *)(uintptr_t)switched,
           (void *)(uintptr_t)plain);
    return 0;
}
