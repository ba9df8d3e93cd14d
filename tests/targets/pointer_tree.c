/* A tree of depth 4 whose node N has the number 1000 + N, and N % 2 as a flag; its leaves lead to nothing. walk gets
 * its root 23 times. */
#include <stdbool.h>
#include <stddef.h>

struct value {
    long number;
    bool odd;
};

struct node {
    struct value *value;
    struct node *below[2];
};

static struct value values[16];
static struct node nodes[16];
static volatile long sum;

__attribute__((noinline)) void walk(struct node *root)
{
    sum += root->value->number;
    asm volatile("" ::: "memory");
}

int main(void)
{
    for (int i = 1; i < 16; i++) {
        values[i] = (struct value){1000 + i, i % 2};
        nodes[i].value = &values[i];
        for (int side = 0; side < 2; side++)
            nodes[i].below[side] = i < 8 ? &nodes[2 * i + side] : NULL;
    }
    for (int i = 0; i < 23; i++)
        walk(&nodes[1]);
    return sum != 23 * 1001;
}
