/*
 * A program whose heap is known, chunk by chunk, with no tracer in it:
 *
 *   chunks          loses 23 blocks of 72 bytes and keeps 101; of 500 bytes it loses 5 and keeps 3 in another thread,
 * so in another arena, and of 1,000,000 bytes it loses 1 and keeps 2; frees 11 of 40 bytes, of which 7 go to the
 * thread's cache and 4 to a fast bin, and one of 3,000, which is free. Prints "made", waits for a byte, and uses what
 * it has kept chunks damaged  the same, with a size in the middle of the heap overwritten chunks none     allocates
 * nothing
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "noinline.h"

enum { LOST = 23, KEPT = 101, BYTES = 72, CACHED = 7, FAST = 4, MARK = 0x5eed };

static uint64_t *kept[KEPT], *others[3], *large[2];
static void *volatile guards[2];
static pthread_barrier_t made;

NOINLINE uint64_t *make(size_t size)
{
    uint64_t *block = malloc(size);
    if (!block)
        _exit(3);
    block[0] = 0;
    block[1] = MARK;
    return block;
}

NOINLINE void scrub(void)
{
    volatile char clean[32 << 10];
    for (size_t i = 0; i < sizeof clean; i++)
        clean[i] = 0;
}

static void use(const uint64_t *block)
{
    if (block[1] != MARK)
        _exit(4);
}

NOINLINE void make_others(void)
{
    for (int i = 0; i < 5; i++)
        others[0] = make(500);
    for (int i = 0; i < 3; i++)
        others[i] = make(500);
    free(make(500)); /* the last one, which the allocator knows: in the thread's cache */
}

static void *other(void *context)
{
    make_others();
    scrub();
    pthread_barrier_wait(&made);
    pthread_barrier_wait(&made);
    return context;
}

NOINLINE void free_some(void)
{
    void *some[CACHED + FAST], *middle = make(3000);
    guards[0] = make(72);
    for (int i = 0; i < CACHED + FAST; i++)
        some[i] = make(40);
    for (int i = 0; i < CACHED + FAST; i++)
        free(some[i]);
    free(middle);
}

NOINLINE void make_all(void)
{
    for (int i = 0; i < LOST; i++)
        kept[0] = make(BYTES);
    for (int i = 0; i < KEPT; i++)
        kept[i] = make(BYTES);
    for (int i = 0; i < 3; i++) /* the second is lost: it has none but these for neighbours */
        large[(i + 1) / 2] = make(1000000);
    free_some();
    guards[1] = make(200); /* the last one, which the allocator knows */
}

static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        _exit(5);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    char byte;
    pthread_t thread;
    if (!strcmp(mode, "none")) {
        say("made\n");
        return read(0, &byte, 1) != 1;
    }
    make_all();
    pthread_barrier_init(&made, NULL, 2);
    if (pthread_create(&thread, NULL, other, NULL))
        return 1;
    pthread_barrier_wait(&made);
    uint64_t before = kept[KEPT / 2][-1];
    if (!strcmp(mode, "damaged"))
        kept[KEPT / 2][-1] = 0x4141414141414141u;
    scrub();
    say("made\n");
    if (read(0, &byte, 1) != 1)
        return 1;
    kept[KEPT / 2][-1] = before;
    for (int i = 0; i < KEPT; i++)
        use(kept[i]);
    for (int i = 0; i < 3; i++)
        use(others[i]);
    for (int i = 0; i < 2; i++)
        use(large[i]);
    pthread_barrier_wait(&made);
    pthread_join(thread, NULL);
    say("used\n");
    return 0;
}
