/*
 * Threads that race realloc: blocks grow and shrink, move, fail to grow, are freed by realloc(p, 0), and their old
 * addresses are handed out at once to other threads. At the end each thread holds exactly 3 blocks of 777 bytes, one of
 * which a failing realloc tried to move, and everything else is freed.
 *
 *   reallocs [THREADS [ROUNDS]]
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "noinline.h"

enum { BLOCKS = 16, KEPT = 3, KEPT_BYTES = 777, MAX_THREADS = 64 };

static void *volatile kept[MAX_THREADS][KEPT];
static unsigned long rounds = 2000;
static atomic_ulong allocations, frees;

static unsigned long next(unsigned long *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* No allocator can give this: the compiler must not know. */
static size_t too_much(void)
{
    size_t bytes = SIZE_MAX / 2 + 1;

    __asm__ volatile("" : "+r"(bytes));
    return bytes;
}

NOINLINE void *keep_block(unsigned i)
{
    void *block = malloc(i == 1 ? 10 : KEPT_BYTES);

    if (i == 1)
        block = realloc(block, KEPT_BYTES);
    if (i == 2 && realloc(block, too_much()))
        abort();
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

static void *worker(void *argument)
{
    unsigned t = (unsigned)(uintptr_t)argument;
    unsigned long seed = 88172645463325252UL + t, made = 0, freed = 0;
    void *blocks[BLOCKS] = {NULL};

    for (unsigned long i = 0; i < rounds; i++) {
        unsigned long r = next(&seed);
        void **slot = &blocks[r % BLOCKS], *old = *slot, *moved;

        switch ((r >> 8) % 8) {
        case 0: /* a failing realloc leaves the block as it was; of no block it is a failing malloc */
            if (realloc(old, too_much()))
                abort();
            break;
        case 1:
            if (!old)
                break;
            __asm__ volatile("" : "+r"(old));
            if (realloc(old, 0))
                abort();
            freed++;
            *slot = NULL;
            break;
        case 2:
            free(old);
            freed += old != NULL;
            *slot = NULL;
            break;
        case 3:
            moved = reallocarray(old, 1 + (r >> 16) % 64, 1 + (r >> 24) % 64);
            if (!moved)
                abort();
            made++;
            freed += old != NULL;
            *slot = moved;
            break;
        default:
            moved = realloc(old, 1 + (r >> 16) % 5000);
            if (!moved)
                abort();
            made++;
            freed += old != NULL;
            *slot = moved;
        }
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
        freed += blocks[i] != NULL;
    }
    for (unsigned i = 0; i < KEPT; i++)
        kept[t][i] = keep_block(i);
    atomic_fetch_add(&allocations, made + KEPT + 1);
    atomic_fetch_add(&frees, freed + 1);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 4;
    static char output[4096];
    pthread_t threads[MAX_THREADS];

    setvbuf(stdout, output, _IOFBF, sizeof(output));
    rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : rounds;
    if (count < 1 || count > MAX_THREADS)
        return 2;
    for (uintptr_t t = 0; t < count; t++)
        if (pthread_create(&threads[t], NULL, worker, (void *)t) != 0)
            return 1;
    for (unsigned t = 0; t < count; t++)
        pthread_join(threads[t], NULL);
    printf("allocations %lu frees %lu leaked %u bytes %u\n", atomic_load(&allocations), atomic_load(&frees),
           count * KEPT, count * KEPT * KEPT_BYTES);
    return 0;
}
