/* More shapes of tests/targets/reach.c, which includes this: what programs keep blocks in. */
#pragma once

#include <fcntl.h>
#include <search.h>
#include <ucontext.h>

/* Loses LOST blocks: each is put into PLACE, in place of the one before, and the last one is taken out. */
static void lose_in(struct node **place)
{
    for (int i = 0; i < LOST; i++)
        *place = lose();
    *place = NULL;
}

/* --- containers --- */

/* A ring of places, of which the oldest have been overwritten. */
NOINLINE void make_ring_buffer(void)
{
    for (int i = 0; i < LOST + KEPT; i++)
        table[i % KEPT] = i < LOST ? lose() : keep();
}

static void use_table(void)
{
    for (int i = 0; i < KEPT; i++)
        if (table[i])
            use(table[i]);
}

/* Chains by a number's hash; some have been cut off their bucket. */
static struct node *buckets[16];

NOINLINE void make_hash(void)
{
    for (int i = 0; i < KEPT + LOST; i++) {
        struct node *node = i < LOST ? lose() : keep(), **bucket = &buckets[i < LOST ? 0 : 1 + i % 15];
        node->next = *bucket;
        *bucket = node;
    }
    buckets[0] = NULL;
}

static void use_hash(void)
{
    for (int i = 0; i < 16; i++)
        for (struct node *node = buckets[i]; node; node = node->next)
            use(node);
}

/* A list of which the program knows the last one only, by links backwards. */
NOINLINE void make_tail(void)
{
    lose_in(&first);
    for (int i = 0; i < KEPT; i++) {
        struct node *node = keep();
        node->other = first;
        if (first)
            first->next = node;
        first = node;
    }
}

static void use_tail(void)
{
    for (struct node *node = first; node; node = node->other)
        use(node);
}

/* Lists whose links lead to a field in the middle of the next. */
static uint64_t *links;

NOINLINE void make_intrusive(void)
{
    lose_in(&first);
    for (int i = 0; i < KEPT; i++) {
        struct node *node = keep();
        node->other = (struct node *)links;
        links = &node->number;
    }
}

static void use_intrusive(void)
{
    while (links) {
        struct node *node = (struct node *)(void *)((char *)links - offsetof(struct node, number));
        links = (uint64_t *)node->other;
        use(node);
    }
}

/* Levels of links over one list. */
NOINLINE void make_skip_list(void)
{
    lose_in(&first);
    struct node *last = NULL;
    for (int i = 0; i < KEPT; i++) {
        struct node *node = keep();
        node->next = first;
        node->other = i % 4 ? last : first;
        last = first = node;
    }
}

/* A graph: each node leads to two others; a part that nothing leads to leads into it. */
NOINLINE void make_lone_ring(void)
{
    struct node *lone = ring_of(lose, LOST);
    for (struct node *node = lone->next; node != lone; node = node->next)
        node->other = table[LOST];
}

NOINLINE void make_graph(void)
{
    for (int i = 0; i < KEPT; i++)
        table[i] = keep();
    for (int i = 0; i < KEPT; i++) {
        table[i]->next = table[(i * 7 + 1) % KEPT];
        table[i]->other = table[(i + 1) % KEPT];
    }
    make_lone_ring();
    first = table[0];
    memset(table, 0, sizeof table);
}

static void use_graph(void)
{
    struct node *node = first;
    do {
        struct node *next = node->other;
        use(node);
        node = next;
    } while (node->mark);
}

/* A vector that has grown again and again, in which others then stood for a while. */
static struct node **vector;

NOINLINE void make_vector(void)
{
    for (int i = 0; i < KEPT; i++) {
        vector = check(realloc(vector, (size_t)(i + 1) * sizeof *vector));
        vector[i] = keep();
    }
    for (int i = 0; i < LOST; i++) {
        struct node *stood = vector[i];
        vector[i] = lose();
        vector[i] = stood;
    }
    first = keep(); /* behind the lost ones may be what is free, which the allocator knows */
}

static void use_vector(void)
{
    for (int i = 0; i < KEPT; i++)
        use(vector[i]);
    use(first);
    free(vector);
}

/* glibc's own trees, with the colour in the lowest bit of a link. */
static void *root;

static int by_number(const void *a, const void *b)
{
    const struct node *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

NOINLINE void make_search_tree(void)
{
    lose_in(&first);
    for (int i = 0; i < KEPT; i++)
        tsearch(keep(), &root, by_number);
}

static void use_search_tree(void)
{
    while (root) {
        struct node *node = *(struct node **)root;
        tdelete(node, &root, by_number);
        use(node);
    }
}

/* Places that are sorted anew. */
NOINLINE void make_sorted(void)
{
    lose_in(&first);
    for (int i = 0; i < KEPT; i++)
        table[i] = keep();
    for (int i = 0; i < KEPT / 2; i++) {
        struct node *node = table[i];
        table[i] = table[KEPT - 1 - i];
        table[KEPT - 1 - i] = node;
    }
}

/* A stack of which the upper part has been dropped. */
NOINLINE void make_dropped(void)
{
    int top = 0;
    for (int i = 0; i < KEPT - LOST; i++)
        table[top++] = keep();
    for (int i = 0; i < LOST; i++)
        table[top++] = lose();
    while (top > KEPT - LOST)
        table[--top] = NULL;
}

/* The nodes of a list are freed, which led to what is lost and, as others do, to what is kept. */
NOINLINE void make_freed(void)
{
    struct link {
        struct link *next;
        struct node *lost, *kept, *more;
    } *links = NULL;
    first = list_of(keep, KEPT);
    for (int i = 0; i < LOST; i++) {
        struct link *link = check(malloc(sizeof *link));
        *link = (struct link){links, lose(), first, first};
        links = link;
    }
    while (links) {
        struct link *next = links->next;
        free(links);
        links = next;
    }
}

/* What is lost leads to what is kept, and not back. */
NOINLINE void make_parents(void)
{
    first = keep();
    for (int i = 0; i < LOST; i++)
        lose()->other = first;
}

/* Each lost one has lost three others, of which two lead to one. */
NOINLINE void make_shared_below(void)
{
    for (int i = 0; i < LOST; i++) {
        struct node *top = lose();
        top->next = lose();
        top->other = lose();
        top->next->next = top->other->next = lose();
    }
    first = keep();
}

/* One long chain: deep below one block. */
NOINLINE void make_chain(void)
{
    first = list_of(lose, 5003);
    first = list_of(keep, 5003);
}

/* Blocks of all sizes, of which the first word leads to the next. */
NOINLINE void make_sizes(void)
{
    struct node **place = &first;
    for (int i = 0; i < LOST; i++) {
        size_t size = sizeof(struct node) + (size_t)(i * 977);
        *place = check(calloc(1, size));
        lost.blocks++, lost.bytes += size;
        place = &(*place)->next;
    }
    first = NULL;
    place = &first;
    for (int i = 0; i < KEPT; i++) {
        size_t size = sizeof(struct node) + (size_t)(i * 977);
        *place = check(calloc(1, size));
        (*place)->mark = MARK;
        kept.blocks++, kept.bytes += size;
        place = &(*place)->next;
    }
}

/* --- places --- */

/* A pool: large blocks in which the program keeps small ones, which lead to blocks. */
static char *pool;

NOINLINE void make_pool(void)
{
    char *last = NULL;
    for (int i = 0; i < KEPT; i++) {
        if (i % 10 == 0) {
            last = pool;
            pool = check(malloc(4096));
            memcpy(pool, &last, sizeof last);
        }
        struct node *node = keep();
        memcpy(pool + 64 + (i % 10) * 24, &node, sizeof node);
    }
    lose_in(&first);
}

static void use_pool(void)
{
    for (int i = KEPT - 1; i >= 0; i--) {
        struct node *node;
        memcpy(&node, pool + 64 + (i % 10) * 24, sizeof node);
        use(node);
        if (i % 10 == 0)
            memcpy(&pool, pool, sizeof pool);
    }
}

/* Private memory of a file, which has been written to. */
static struct node **mapped;

NOINLINE void make_mapped(void)
{
    int fd = open("/proc/self/exe", O_RDONLY);
    mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    lose_in(mapped);
    for (int i = 0; i < KEPT; i++)
        mapped[i] = keep();
}

static void use_mapped(void)
{
    for (int i = 0; i < KEPT; i++)
        use(mapped[i]);
}

/* A file in memory that two mappings share; the one by which it was written is gone. */
static int memory_file = -1;

NOINLINE void make_memory_file(void)
{
    memory_file = (int)syscall(SYS_memfd_create, "blocks", 0);
    if (ftruncate(memory_file, 4096))
        _exit(5);
    struct node **written = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file, 0);
    mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file, 0);
    lose_in(written);
    for (int i = 0; i < KEPT; i++)
        written[i] = keep();
    munmap(written, 4096);
}

/* Far apart in memory of which next to nothing is there, and among many regions with guards between them. */
static char *wide, *guarded;
enum { REGIONS = 20000, PAGE = 4096 };
#define WIDE (1ull << 36)

static struct node **wide_place(int i)
{
    return (struct node **)(wide + WIDE / KEPT * (uint64_t)i / 8 * 8);
}

static struct node **guarded_place(int i)
{
    return (struct node **)(guarded + (size_t)i * (REGIONS / KEPT) * 2 * PAGE);
}

NOINLINE void make_sparse(void)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    wide = mmap(NULL, WIDE, PROT_READ | PROT_WRITE, flags, -1, 0);
    guarded = mmap(NULL, (size_t)REGIONS * 2 * PAGE, PROT_NONE, flags, -1, 0);
    for (int i = 0; i < REGIONS; i++)
        if (mprotect(guarded + (size_t)i * 2 * PAGE, PAGE, PROT_READ | PROT_WRITE))
            _exit(5);
    for (int i = 0; i < LOST; i++)
        *wide_place(i) = lose();
    for (int i = 0; i < KEPT; i++) {
        *wide_place(i) = keep();
        *guarded_place(i) = keep();
    }
}

static void use_sparse(void)
{
    for (int i = 0; i < KEPT; i++) {
        use(*wide_place(i));
        use(*guarded_place(i));
    }
}

/* What pthread_setspecific keeps for a thread, the first and others: the keys from 32 on lie in a block. */
static pthread_key_t keys[KEPT];

NOINLINE void make_specific(void)
{
    for (int i = 0; i < KEPT; i++) {
        pthread_key_create(&keys[i], NULL);
        if (i < LOST)
            pthread_setspecific(keys[i], lose());
        pthread_setspecific(keys[i], keep());
    }
}

static void use_specific(void)
{
    for (int i = 0; i < KEPT; i++)
        use(pthread_getspecific(keys[i]));
}

/* The program's environment, which leads to strings of the program's own. */
NOINLINE void make_environment(void)
{
    lose_in(&first);
    for (int i = 0; i < KEPT; i++) {
        struct node *node = keep();
        snprintf(node->name, sizeof node->name, "REACH%d=x", i);
        putenv(node->name);
    }
}

static void use_environment(void)
{
    for (int i = 0; i < KEPT; i++) {
        char name[16];
        snprintf(name, sizeof name, "REACH%d", i);
        const char *value = getenv(name);
        if (!value)
            _exit(8);
        use((struct node *)(void *)(uintptr_t)(value - strlen(name) - 1 - offsetof(struct node, name)));
        unsetenv(name);
    }
}

/* The stack of a coroutine, a block of its own, on which alone a pointer lies. */
static ucontext_t outside, inside;
static char *coroutine_stack;

static void coroutine(void)
{
    struct node *volatile mine_alone = keep();
    swapcontext(&inside, &outside);
    use(mine_alone);
}

NOINLINE void make_coroutine(void)
{
    lose_in(&first);
    coroutine_stack = check(calloc(1, 64 << 10));
    getcontext(&inside);
    inside.uc_stack.ss_sp = coroutine_stack;
    inside.uc_stack.ss_size = 64 << 10;
    inside.uc_link = &outside;
    makecontext(&inside, coroutine, 0);
    swapcontext(&outside, &inside);
}

static void use_coroutine(void)
{
    swapcontext(&outside, &inside);
    free(coroutine_stack);
}

/* A place on the stack of main's callers: a function that waits further up. */
static struct node *volatile *on_stack;

static void use_on_stack(void)
{
    for (int i = 0; i < LOST; i++)
        use(on_stack[i]);
}

NOINLINE void make_on_stack(void)
{
    lose_in(&first);
    for (int i = 0; i < LOST; i++)
        on_stack[i] = keep();
}

/* Beside numbers in a union, and in a structure with pointers and numbers of all sizes. */
static struct {
    char kind;
    union {
        struct node *node;
        uint64_t number;
    } value;
    short more;
} mixed[KEPT];

NOINLINE void make_mixed(void)
{
    for (int i = 0; i < LOST; i++)
        mixed[i].value.node = lose();
    for (int i = 0; i < KEPT; i++) {
        mixed[i].kind = (char)i;
        mixed[i].value.node = keep();
    }
}

static void use_mixed(void)
{
    for (int i = 0; i < KEPT; i++)
        use(mixed[i].value.node);
}

/* A pointer to the place behind the last element alone, as ranges have it. */
static struct node *behind;

NOINLINE void make_range(void)
{
    lose_in(&first);
    behind = keep() + 1;
}

static void use_range(void)
{
    use(behind - 1);
}

/* With references counted: objects that lead to each other keep each other. */
NOINLINE void make_counted(void)
{
    for (int i = 0; i < LOST; i++) {
        struct node *a = lose(), *b = lose();
        a->other = b;
        b->other = a;
        a->number = b->number = 1;
    }
    first = list_of(keep, KEPT);
}

/* A block that leads to itself alone. */
NOINLINE void make_own(void)
{
    for (int i = 0; i < LOST; i++) {
        struct node *node = lose();
        node->next = node->other = node;
    }
    first = list_of(keep, KEPT);
}

/* Two lists, of which one has been appended to the other and then cut off. */
NOINLINE void make_spliced(void)
{
    first = list_of(keep, KEPT);
    struct node *last = first;
    while (last->next)
        last = last->next;
    last->next = list_of(lose, LOST);
    last->next = NULL;
}

#define MORE_SHAPES                                                                                                    \
    {"sparse", make_sparse, use_sparse}, {"ring_buffer", make_ring_buffer, use_table}, {"hash", make_hash, use_hash},  \
        {"tail", make_tail, use_tail}, {"intrusive", make_intrusive, use_intrusive},                                   \
        {"skip_list", make_skip_list, use_list}, {"graph", make_graph, use_graph},                                     \
        {"vector", make_vector, use_vector}, {"search_tree", make_search_tree, use_search_tree},                       \
        {"sorted", make_sorted, use_table}, {"dropped", make_dropped, use_table}, {"parents", make_parents, use_list}, \
        {"shared_below", make_shared_below, use_list}, {"chain", make_chain, use_list},                                \
        {"sizes", make_sizes, use_list}, {"pool", make_pool, use_pool}, {"mapped", make_mapped, use_mapped},           \
        {"memory_file", make_memory_file, use_mapped}, {"specific", make_specific, use_specific},                      \
        {"environment", make_environment, use_environment}, {"coroutine", make_coroutine, use_coroutine},              \
        {"on_stack", make_on_stack, use_on_stack}, {"mixed", make_mixed, use_mixed}, {"range", make_range, use_range}, \
        {"counted", make_counted, use_list}, {"own", make_own, use_list}, {"freed", make_freed, use_list},             \
    {                                                                                                                  \
        "spliced", make_spliced, use_list                                                                              \
    }
