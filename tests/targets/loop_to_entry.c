/*
 * Functions that compilers make loops of which begin where the function does: at -Os gcc of wait_flag and bump, at
 * other levels of bump alone. Each is called 3 times, and goes round 10 times.
 */
#include <stddef.h>
#include <stdio.h>

#include "noinline.h"

struct node {
    struct node *next;
    int value;
};

NOINLINE void wait_flag(volatile int *flag);
NOINLINE void drain(volatile char *at, size_t count);
NOINLINE void bump(struct node *node);

NOINLINE void wait_flag(volatile int *flag)
{
    while (*flag)
        (*flag)--;
}

NOINLINE void drain(volatile char *at, size_t count)
{
    do {
        *at = 0;
        at++;
    } while (--count);
}

NOINLINE void bump(struct node *node)
{
    do {
        node->value++;
        node = node->next;
    } while (node);
}

int main(void)
{
    static char buffer[64];
    static struct node nodes[10];
    for (int i = 0; i < 9; i++)
        nodes[i].next = &nodes[i + 1];
    for (int i = 0; i < 3; i++) {
        volatile int flag = 10;
        wait_flag(&flag);
        drain(buffer, 10);
        bump(nodes);
    }
    puts("3 calls each");
    return 0;
}
