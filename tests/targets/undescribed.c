/*
 * undescribed: compiled without unwind tables and without frame pointers. Below leaf, which is called 7 times from each
 * place, there are functions of every shape: with a large frame, a huge one, an aligned one, one of variable size, a
 * switch by a table of jumps, and one that ends in a call that never comes back.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "noinline.h"

volatile int sink;

#define KEEP(place) __asm__ volatile("" : : "r"(place) : "memory")

NOINLINE void leaf(int n)
{
    sink += n + getppid();
    KEEP(&sink);
}

NOINLINE void large(int n)
{
    char bytes[2000];
    memset(bytes, n, sizeof bytes);
    leaf(n + bytes[3] * 0);
    KEEP(bytes);
}

/* Whose stack a loop makes room on, page by page. */
NOINLINE void huge(int n)
{
    char bytes[70000];
    memset(bytes, n, sizeof bytes);
    leaf(n + bytes[3] * 0);
    KEEP(bytes);
}

NOINLINE void aligned(int n)
{
    char bytes[64] __attribute__((aligned(64)));
    memset(bytes, n, sizeof bytes);
    large(n);
    KEEP(bytes);
}

NOINLINE void variable(int n)
{
    char bytes[n];
    memset(bytes, n, (size_t)n);
    aligned(n);
    KEEP(bytes);
}

/* Both: gcc finds the caller's stack by a register of its own. */
NOINLINE void both(int n)
{
    char bytes[n], other[64] __attribute__((aligned(128)));
    memset(bytes, n, (size_t)n);
    memset(other, n, sizeof other);
    variable(n);
    KEEP(bytes);
    KEEP(other);
}

NOINLINE int chosen(int n, int way)
{
    switch (way) {
    case 0:
        leaf(n);
        return n * 3;
    case 1:
        large(n + 1);
        return n + 5;
    case 2:
        both(n);
        return n ^ 7;
    case 3:
        variable(n + 3);
        return n - 23;
    case 4:
        aligned(n);
        return n / 3;
    default:
        leaf(n);
        return 0;
    }
}

/* In assembly, without a type, a size, or anything that describes its frame. */
void assembled(int n);
#ifdef __x86_64__
__asm__(".text\n"
        ".globl assembled\n"
        "assembled:\n"
        "    push %rbx\n"
        "    push %rbp\n"
        "    sub $40, %rsp\n"
        "    lea 8(%rsp), %rbp\n" /* a place in the frame, and no frame pointer */
        "    call leaf\n"
        "    xor %ebp, %ebp\n"
        "    add $40, %rsp\n"
        "    pop %rbp\n"
        "    pop %rbx\n"
        "    ret\n");
#else
__asm__(".text\n"
        ".globl assembled\n"
        "assembled:\n"
        "    sub sp, sp, #64\n"
        "    stp x29, x30, [sp, #32]\n"
        "    bl leaf\n"
        "    ldp x29, x30, [sp, #32]\n"
        "    add sp, sp, #64\n"
        "    ret\n");
#endif

NOINLINE void ends(int n)
{
    if (n < 0)
        abort();
    large(n);
    if (n > 1000)
        exit(1);
    KEEP(&n);
}

int main(void)
{
    for (int i = 0; i < 7; i++) {
        both(77);
        ends(23);
        assembled(5);
        huge(7);
        for (int way = 0; way < 6; way++)
            sink += chosen(101, way);
    }
    return 0;
}
