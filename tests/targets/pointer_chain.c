/* Twenty structs, each of which leads to the next, and a function that gets four of them, 23 times. */
#include <stdio.h>

struct P {
    int v;
    struct P *next;
    char pad[100];
};

static struct P p[20];
static volatile int s;

__attribute__((noinline)) void f(struct P *a, struct P *b, struct P *c, struct P *d)
{
    s = a->v + b->v + c->v + d->v;
    asm volatile("" ::: "memory");
}

int main(void)
{
    for (int i = 0; i < 20; i++) {
        p[i].v = i;
        p[i].next = &p[(i + 1) % 20];
    }
    for (int i = 0; i < 23; i++)
        f(p, p + 1, p + 2, p + 3);
    return s != 6;
}
