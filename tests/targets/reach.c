/*
 * A program that has lost some of its blocks and keeps others in ways of all kinds:
 *
 *   reach SHAPE [THREADS]     prints "ready", waits for a byte, makes blocks of this shape, prints how much of them is
 *                             lost and kept; waits for another byte, then uses each block that it has kept
 *   reach list THREADS N      the same, and keeps a list of N
 *   reach SHAPE exit          does all this at once
 *   reach                     prints the names of the shapes
 *
 * What is kept is allocated below keep(), what is lost below lose(). With THREADS, so many others allocate, free and
 * move pointers all the time, and use what they have.
 */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "noinline.h"

enum { MARK = 0x5eed, LOST = 23, KEPT = 101, BYTES = 72 };

struct node {
    struct node *next, *other;
    uint64_t mark, number;
    char name[BYTES - 32];
};

static struct {
    unsigned long blocks, bytes;
} lost, kept;

static char output[4096];
static unsigned long used;

/* --- blocks --- */

static void *check(void *block)
{
    if (!block)
        _exit(3);
    return block;
}

NOINLINE struct node *keep(void)
{
    struct node *node = check(calloc(1, sizeof *node));
    node->mark = MARK;
    node->number = ++kept.blocks;
    kept.bytes += sizeof *node;
    return node;
}

NOINLINE struct node *lose(void)
{
    struct node *node = check(calloc(1, sizeof *node));
    node->mark = MARK;
    lost.blocks++;
    lost.bytes += sizeof *node;
    return node;
}

/* What is held has not been touched by anybody else. */
static void use(struct node *node)
{
    if (node->mark != MARK)
        _exit(4);
    node->mark = 0; /* each once */
    used++;
}

/* Nothing of what lay on the stack below is left. */
NOINLINE void scrub(void)
{
    volatile char clean[32 << 10];
    for (size_t i = 0; i < sizeof clean; i++)
        clean[i] = 0;
}

/* --- shapes --- */

static struct node *first;
static struct node *table[KEPT];

static struct node *list_of(struct node *(*make)(void), unsigned count)
{
    struct node *head = NULL;
    while (count--) {
        struct node *node = make();
        node->next = head;
        head = node;
    }
    return head;
}

static void use_list(void)
{
    for (struct node *node = first; node; node = node->next)
        use(node);
}

static unsigned listed = KEPT;

NOINLINE void make_list(void)
{
    first = list_of(lose, LOST);
    first = list_of(keep, listed);
}

static struct node *tree_of(struct node *(*make)(void), int depth)
{
    if (!depth)
        return NULL;
    struct node *node = make();
    node->next = tree_of(make, depth - 1);
    node->other = tree_of(make, depth - 1);
    return node;
}

static void use_tree(struct node *node)
{
    if (!node)
        return;
    use_tree(node->next);
    use_tree(node->other);
    use(node);
}

/* A tree of which one half has been cut off. */
NOINLINE void make_tree(void)
{
    first = keep();
    first->next = tree_of(keep, 6);
    first->other = tree_of(lose, 5);
    first->other = NULL;
}

static void use_first_tree(void)
{
    use_tree(first);
}

static struct node *ring_of(struct node *(*make)(void), unsigned count)
{
    struct node *last = make(), *node = last;
    while (--count) {
        node->next = make();
        node->next->other = node;
        node = node->next;
    }
    node->next = last;
    last->other = node;
    return last;
}

NOINLINE void make_cycle(void)
{
    first = ring_of(lose, LOST);
    first = ring_of(keep, KEPT);
}

static void use_cycle(void)
{
    struct node *node = first;
    do {
        struct node *next = node->next;
        use(node);
        node = next;
    } while (node->mark);
}

/* Entries of a cache with what belongs to them; some have been replaced by others, and are lost with that. */
NOINLINE void make_cache(void)
{
    for (int i = 0; i < LOST; i++) {
        table[i] = lose();
        table[i]->next = lose();
        table[i]->next->next = lose();
    }
    for (int i = 0; i < KEPT; i++) {
        table[i] = keep();
        table[i]->next = keep();
    }
}

static void use_cache(void)
{
    for (int i = 0; i < KEPT; i++) {
        use(table[i]->next);
        use(table[i]);
    }
}

/* Only with marks in the lowest and the highest bits, in the middle of the block, or behind its end. */
static uintptr_t hidden[KEPT];

NOINLINE void make_tags(void)
{
    for (int i = 0; i < LOST; i++)
        hidden[i] = (uintptr_t)lose();
    for (int i = 0; i < KEPT; i++) {
        uintptr_t address = (uintptr_t)keep();
        hidden[i] = i % 3 == 0 ? (address | 5) | (uintptr_t)(i + 1) << 48 : address + (i % 3 == 1 ? 40 : BYTES);
    }
}

static void use_tags(void)
{
    for (int i = 0; i < KEPT; i++) {
        uintptr_t address = hidden[i];
        address = i % 3 == 0 ? address << 16 >> 16 & ~(uintptr_t)7 : address - (i % 3 == 1 ? 40 : BYTES);
        use((struct node *)address);
    }
}

/* At addresses that are not multiples of eight. */
static struct __attribute__((packed)) {
    uint32_t number;
    struct node *node;
} packed[KEPT];

NOINLINE void make_packed(void)
{
    for (int i = 0; i < LOST; i++)
        packed[i].node = lose();
    for (int i = 0; i < KEPT; i++)
        packed[i].node = keep();
}

static void use_packed(void)
{
    for (int i = 0; i < KEPT; i++)
        use(packed[i].node);
}

/* Only the kernel knows them. */
static int watcher, pipes[2][2];
static timer_t timer;

NOINLINE void watch(int fd, struct node *node)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = node};
    if (epoll_ctl(watcher, EPOLL_CTL_ADD, fd, &event))
        _exit(5);
}

NOINLINE void make_kernel(void)
{
    watcher = epoll_create1(0);
    if (pipe(pipes[0]) || pipe(pipes[1]))
        _exit(5);
    watch(pipes[0][0], keep());
    watch(pipes[1][0], keep());
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_ptr = keep()};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer))
        _exit(5);
    first = lose();
    first = NULL;
    memset(&event, 0, sizeof event);
    __asm__ volatile("" : : "r"(&event) : "memory");
}

static volatile sig_atomic_t rang;

static void ring(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    use(info->si_value.sival_ptr);
    rang = 1;
}

static void use_kernel(void)
{
    struct epoll_event events[2];
    if (write(pipes[0][1], "", 1) != 1 || write(pipes[1][1], "", 1) != 1 || epoll_wait(watcher, events, 2, -1) != 2)
        _exit(5);
    use(events[0].data.ptr);
    use(events[1].data.ptr);
    struct sigaction action = {.sa_sigaction = ring, .sa_flags = SA_SIGINFO};
    struct itimerspec soon = {.it_value.tv_nsec = 1};
    sigaction(SIGRTMIN, &action, NULL);
    timer_settime(timer, 0, &soon, NULL);
    while (!rang)
        usleep(1000);
}

/* In memory that is shared, that no page table has any more, or that has been made unreadable. */
static struct node **shared, **aside;

NOINLINE void make_shared(void)
{
    size_t size = KEPT * sizeof *shared;
    shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    aside = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < LOST; i++)
        shared[i] = lose();
    for (int i = 0; i < KEPT; i++) {
        shared[i] = keep();
        aside[i] = keep();
    }
    madvise(shared, size, MADV_DONTNEED); /* what is in shared memory stays */
    mprotect(aside, size, PROT_NONE);
}

static void use_shared(void)
{
    mprotect(aside, KEPT * sizeof *aside, PROT_READ);
    for (int i = 0; i < KEPT; i++) {
        use(shared[i]);
        use(aside[i]);
    }
}

/* --- shapes of threads --- */

enum { THREADS = 5 };
static pthread_t threads[THREADS];
static pthread_barrier_t made;
static int gates[2];
static volatile int go;

static void start(void *(*body)(void *))
{
    pthread_barrier_init(&made, NULL, THREADS + 1);
    if (pipe(gates))
        _exit(5);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, body, NULL))
            _exit(5);
    pthread_barrier_wait(&made);
}

static void join(void)
{
    go = 1;
    close(gates[1]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct node *locked(struct node *(*make)(void))
{
    pthread_mutex_lock(&lock);
    struct node *node = make();
    pthread_mutex_unlock(&lock);
    return node;
}

static void use_locked(struct node *node)
{
    pthread_mutex_lock(&lock);
    use(node);
    pthread_mutex_unlock(&lock);
}

/* What a thread waits in: NUMBER reads a byte that never comes, with NODE in one register that the call keeps. */
NOINLINE struct node *sleep_with(struct node *node)
{
    char byte;
#ifdef __x86_64__
    register struct node *keeper __asm__("rbx") = node;
    long result;
    node = NULL;
    __asm__ volatile("syscall"
                     : "=a"(result), "+r"(keeper)
                     : "0"((long)SYS_read), "D"((long)gates[0]), "S"(&byte), "d"(1L)
                     : "rcx", "r11", "memory");
    (void)result;
    return keeper;
#else
    while (read(gates[0], &byte, 1) > 0)
        continue;
    return node;
#endif
}

static __thread struct node *mine;
static __thread struct node *older;

static void *variables_body(void *context)
{
    (void)context;
    mine = locked(lose);
    older = locked(lose);
    older = mine = NULL;
    mine = locked(keep);
    mine->next = locked(keep);
    scrub();
    pthread_barrier_wait(&made);
    sleep_with(NULL);
    use_locked(mine->next);
    use_locked(mine);
    return NULL;
}

NOINLINE void make_thread_local(void)
{
    start(variables_body);
}

NOINLINE struct node *fresh(void)
{
    struct node *node = locked(lose);
    node->next = locked(lose);
    return locked(keep);
}

static void *sleeper_body(void *context)
{
    (void)context;
    struct node *node = fresh();
    scrub();
    pthread_barrier_wait(&made);
    use_locked(sleep_with(node));
    return NULL;
}

NOINLINE void make_sleeping(void)
{
    start(sleeper_body);
}

/* In one register of a thread that never calls anybody. */
static void *spinner_body(void *context)
{
    (void)context;
    struct node *node = fresh();
    scrub();
    pthread_barrier_wait(&made);
#ifdef __x86_64__
    uintptr_t keeper = (uintptr_t)node;
    __asm__ volatile("movq %0, %%xmm7\n xor %0, %0\n 1: pause\n cmpl $0, %1\n je 1b\n movq %%xmm7, %0"
                     : "+r"(keeper)
                     : "m"(go)
                     : "xmm7", "memory");
    node = (struct node *)keeper;
#else
    while (!go)
        continue;
#endif
    use_locked(node);
    return NULL;
}

NOINLINE void make_registers(void)
{
    start(spinner_body);
}

#include "reach_more.h"

static const struct shape {
    const char *name;
    void (*make)(void), (*use)(void);
} shapes[] = {
    {"list", make_list, use_list},       {"tree", make_tree, use_first_tree}, {"cycle", make_cycle, use_cycle},
    {"cache", make_cache, use_cache},    {"tags", make_tags, use_tags},       {"packed", make_packed, use_packed},
    {"kernel", make_kernel, use_kernel}, {"shared", make_shared, use_shared}, {"thread_local", make_thread_local, join},
    {"sleeping", make_sleeping, join},   {"registers", make_registers, join}, MORE_SHAPES,
};

/* --- what others find lost --- */

#ifdef MEMCHECK
#include <valgrind/memcheck.h>
#endif
void __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* Has the tool that the program is built for, or runs under, look for leaks now. */
static void leak_check(void)
{
#ifdef MEMCHECK
    VALGRIND_DO_LEAK_CHECK;
#endif
    if (__lsan_do_recoverable_leak_check)
        __lsan_do_recoverable_leak_check();
}

/* --- threads that move pointers all the time --- */

enum { PLACES = 997 };
static volatile int moving = 1;

/* Each has a table of its own: all that it finds there is as it has left it. */
static void *mover(void *context)
{
    struct node *places[PLACES] = {0};
    uint64_t random = (uintptr_t)context | 1;
    while (moving) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        struct node **from = &places[(random >> 33) % PLACES], **to = &places[(random >> 17) % PLACES], *moved = *from;
        if (moved && moved->mark != MARK)
            _exit(6);
        if (!moved) {
            *from = check(calloc(1, sizeof **from));
            (*from)->mark = MARK;
        } else if (!*to) {
            *from = NULL;
            *to = moved;
        } else if (random >> 60 == 0) {
            free(moved);
            *from = NULL;
        }
    }
    for (int i = 0; i < PLACES; i++) {
        if (places[i] && places[i]->mark != MARK)
            _exit(6);
        free(places[i]);
    }
    return NULL;
}

static void wait_for_byte(void)
{
    char byte;
    fflush(stdout);
    if (read(0, &byte, 1) != 1)
        _exit(7);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, output, _IOFBF, sizeof output);
    const struct shape *shape = shapes, *end = shapes + sizeof shapes / sizeof *shapes;
    for (; argc < 2 && shape < end; shape++)
        puts(shape->name);
    for (; shape < end && strcmp(shape->name, argv[1]); shape++)
        continue;
    if (shape == end)
        return argc > 1;
    int at_once = argc > 2 && !strcmp(argv[2], "exit");
    pthread_t movers[16];
    int count = argc > 2 ? atoi(argv[2]) : 0;
    for (int i = 0; i < count; i++)
        pthread_create(&movers[i], NULL, mover, (void *)(uintptr_t)(i + 1));
    if (argc > 3)
        listed = (unsigned)atoi(argv[3]);
    printf("ready\n");
    if (!at_once)
        wait_for_byte();
    struct node *volatile places[LOST] = {0};
    on_stack = places;
    shape->make();
    void *volatile last = check(malloc(24)); /* no lost block is the last one, which the allocator knows */
    scrub();
    leak_check();
    printf("lost %lu in %lu kept %lu in %lu\n", lost.bytes, lost.blocks, kept.bytes, kept.blocks);
    if (!at_once)
        wait_for_byte();
    shape->use();
    moving = 0;
    for (int i = 0; i < count; i++)
        pthread_join(movers[i], NULL);
    free(last);
    printf("used %lu\n", used);
    return used != kept.blocks;
}
