/*
 * Calls functions as Go does: arguments in rax, rbx …, results in rax, and r14 leads to the goroutine, whose stack is
 * moved while it is in calls and which goes on in another thread. The section .go.buildinfo is what Go programs are
 * told by. x86_64 only.
 *
 *   goroutines [THREADS]
 *
 * Each of 23 goroutines G = 1 … 23 calls
 *   go_sum(n, G)     101 times with n = 3, which calls itself with n - 1 as far as 1, where the goroutine gives way;
 *                    returns n * (n + 1) / 2 * G
 *   go_signed(-G)      7 times; returns -G - 1
 *   go_jump(G)         once: jumps to go_signed at its end
 * When it gives way its stack is copied to another place, and the next thread goes on with it.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)

enum { GOROUTINES = 23, STACK = 16384 };

struct goroutine {
    uintptr_t low, high; /* of its stack: as Go's struct g begins */
    uintptr_t stack_pointer, thread_stack_pointer;
    uint64_t number, sum;
    int over;
};

__attribute__((section(".go.buildinfo"), used)) static const char buildinfo[32] = "\xff Go buildinf:";

void goroutine_run(struct goroutine *g); /* until it gives way */
void goroutine_main(void);

__asm__(".text\n"
        ".globl goroutine_run\n.type goroutine_run, @function\ngoroutine_run:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rdi, %r14\nmov %rsp, 24(%r14)\nmov 16(%r14), %rsp\nret\n"
        ".size goroutine_run, . - goroutine_run\n"
        ".type give_way, @function\ngive_way:\n"
        "mov %rsp, 16(%r14)\nmov 24(%r14), %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size give_way, . - give_way\n"
        /* Two return instructions, the second behind the end of the other way. */
        ".globl go_sum\n.type go_sum, @function\ngo_sum:\n"
        "push %rax\npush %rbx\ncmp $1, %rax\njle 1f\n"
        "dec %rax\ncall go_sum\nmov 8(%rsp), %rcx\nimul (%rsp), %rcx\nadd %rcx, %rax\nadd $16, %rsp\nret\n"
        "1: call give_way\nmov (%rsp), %rax\nadd $16, %rsp\nret\n"
        ".size go_sum, . - go_sum\n"
        ".globl go_signed\n.type go_signed, @function\ngo_signed:\n"
        "dec %rax\nret\n"
        ".size go_signed, . - go_signed\n"
        ".globl go_jump\n.type go_jump, @function\ngo_jump:\n"
        "neg %rax\njmp go_signed\n"
        ".size go_jump, . - go_jump\n"
        ".globl go_never\n.type go_never, @function\ngo_never:\n"
        "ud2\n"
        ".size go_never, . - go_never\n"
        ".type goroutine_main, @function\n.globl goroutine_main\ngoroutine_main:\n"
        "xor %r12d, %r12d\npush %r12\n" /* how often, on the stack: registers are the thread's */
        "1: mov $3, %eax\nmov 32(%r14), %rbx\ncall go_sum\nadd %rax, 40(%r14)\n"
        "incq (%rsp)\ncmpq $101, (%rsp)\njl 1b\n"
        "movq $0, (%rsp)\n"
        "2: mov 32(%r14), %rax\nneg %rax\ncall go_signed\nadd %rax, 40(%r14)\n"
        "incq (%rsp)\ncmpq $7, (%rsp)\njl 2b\n"
        "mov 32(%r14), %rax\ncall go_jump\n"
        "movl $1, 48(%r14)\ncall give_way\nud2\n"
        ".size goroutine_main, . - goroutine_main\n");

static struct goroutine goroutines[GOROUTINES];
static pthread_barrier_t all;
static int threads = 1;

/* The stack of G at another place; nothing on it points into it. */
static void move_stack(struct goroutine *g)
{
    char *stack = malloc(STACK);
    uintptr_t used = g->high - g->stack_pointer;

    if (!stack)
        abort();
    memcpy(stack + STACK - used, (void *)g->stack_pointer, used);
    free((void *)g->low);
    g->low = (uintptr_t)stack;
    g->high = g->low + STACK;
    g->stack_pointer = g->high - used;
}

static void *work(void *argument)
{
    int number = (int)(intptr_t)argument;

    for (int round = 0; round <= 101; round++) {
        for (int i = 0; i < GOROUTINES; i++)
            if ((i + round) % threads == number && !goroutines[i].over) {
                move_stack(&goroutines[i]);
                goroutine_run(&goroutines[i]);
            }
        pthread_barrier_wait(&all);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t started[64];
    uint64_t sum = 0;

    threads = argc > 1 ? atoi(argv[1]) : 1;
    if (threads < 1 || threads > 64)
        return 2;
    pthread_barrier_init(&all, NULL, (unsigned)threads);
    for (int i = 0; i < GOROUTINES; i++) {
        struct goroutine *g = &goroutines[i];
        g->low = (uintptr_t)malloc(STACK);
        g->high = g->low + STACK;
        g->stack_pointer = g->high - 16;
        *(uintptr_t *)g->stack_pointer = (uintptr_t)goroutine_main;
        g->number = (uint64_t)i + 1;
    }
    for (intptr_t i = 0; i < threads; i++)
        if (pthread_create(&started[i], NULL, work, (void *)i))
            return 1;
    for (int i = 0; i < threads; i++)
        pthread_join(started[i], NULL);
    for (int i = 0; i < GOROUTINES; i++)
        sum += goroutines[i].sum;
    printf("sum %ld, the last byte of what marks it: %d\n", (long)sum, buildinfo[31]);
    return 0;
}

#else

int main(void)
{
    puts("x86_64 only");
    return 0;
}

#endif
