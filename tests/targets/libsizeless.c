/* A library whose only symbols, once it is stripped, are what it exports: two functions, and one of assembler without a
 * size, behind which its other functions lie. */
#include <stdlib.h>

#include "noinline.h"

#ifdef __x86_64__
#define TYPE "@function"
#else
#define TYPE "%function"
#endif

asm(".text\n.globl asm_marker\n.type asm_marker, " TYPE "\nasm_marker:\nret\n");

void asm_marker(void), entry(void), entry_by_pointer(void);

static void *volatile kept;

static NOINLINE void hidden_leaf(void)
{
    kept = malloc(64);
    asm volatile("");
}

static NOINLINE void hidden_middle(void)
{
    hidden_leaf();
    asm volatile("");
}

__attribute__((visibility("default"))) void entry(void)
{
    hidden_middle();
    asm volatile("");
    asm_marker();
}

static NOINLINE void hidden_tail(void)
{
    kept = malloc(65);
    asm volatile("");
}

static void (*volatile tail)(void) = hidden_tail;

__attribute__((visibility("default"))) void entry_by_pointer(void)
{
    tail();
    asm volatile("");
}
