/*
 * A library that is preloaded into programs of others, to lose blocks in them: for each byte that comes through the
 * pipe $INJECT it allocates 101 blocks of 72 bytes in injected(), forgets them, and writes "lost" to $INJECTED.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "noinline.h"

enum { LOST = 101, BYTES = 72 };

static void *volatile place;

NOINLINE void injected(void)
{
    for (int i = 0; i < LOST; i++) {
        place = malloc(BYTES);
        if (place)
            memset(place, 1, BYTES);
    }
    place = NULL;
}

NOINLINE void scrub(void)
{
    volatile char clean[16 << 10];
    for (size_t i = 0; i < sizeof clean; i++)
        clean[i] = 0;
}

static void *body(void *context)
{
    int in = open(getenv("INJECT"), O_RDWR | O_CLOEXEC),
        out = open(getenv("INJECTED"), O_WRONLY | O_APPEND | O_CLOEXEC);
    char byte;
    while (in >= 0 && read(in, &byte, 1) == 1) {
        injected();
        place = malloc(BYTES); /* no lost block is the last one, which the allocator knows */
        free(place);
        place = NULL;
        scrub();
        if (write(out, "lost\n", 5) != 5)
            break;
    }
    return context;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    const char *once = getenv("INJECT");
    if (!once || access(once, F_OK))
        return;
    if (!pthread_create(&thread, NULL, body, NULL))
        pthread_detach(thread);
}
