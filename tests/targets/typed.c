/*
 * Functions with parameters of all types, and variables to watch.
 *
 *   typed [THREADS [CALLS [wait]]]   each of THREADS (1) calls each function CALLS (23) times, the I-th time with
 *                                    arguments made of I; prints what some of them were given; with a third word,
 *                                    prints "ready" first and waits for a byte
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "noinline.h"

enum color { RED = -2, GREEN, BLUE = 5 };
typedef uint16_t port;
struct inner {
    int8_t level;
    int64_t total;
};
struct config {
    char name[16];
    unsigned mode : 3;
    signed step : 5;
    port ports[4];
    struct inner inner, list[3];
    union {
        uint32_t word;
        uint8_t bytes[4];
    };
    const char *path;
    struct config *next;
    double ratio;
};
struct small {
    int a, b;
};
struct two {
    long a, b;
};
struct large {
    long words[3];
};
struct floats {
    double x, y;
};
struct hidden;

struct config config = {.name = "main", .ports = {80, 443}, .list = {{1, 10}, {2, 20}, {3, 30}}};
struct config *current = &config;
int grid[3][5];
static volatile long sink;

NOINLINE void integers(int8_t i8, uint8_t u8, int16_t i16, uint16_t u16, int32_t i32, uint32_t u32)
{
    sink += i8 + u8 + i16 + u16 + i32 + u32;
}

NOINLINE void others(int64_t i64, uint64_t u64, bool flag, enum color color, port number, char letter)
{
    sink += i64 + (long)u64 + flag + color + number + letter;
}

NOINLINE void many(int a, long b, short c, int d, int e, int f, int8_t g, int64_t h, uint32_t i)
{
    sink += a + b + c + d + e + f + g + h + i;
}

NOINLINE void mixed(double x, int a, struct small s, float y, struct floats p, long b, struct large l, struct two t,
                    short c)
{
    sink += (long)x + a + s.a + (long)y + (long)p.x + b + l.words[0] + t.b + c;
}

NOINLINE long fields(struct config *c, const char *text, const struct config *const *list, void *nothing,
                     struct hidden *unknown)
{
    sink += c->mode + *text + (*list)->inner.level + (nothing != unknown);
    return sink;
}

NOINLINE struct large give_large(int a)
{
    return (struct large){{a, sink, 0}};
}

NOINLINE int twice(int n)
{
    return n <= 0 ? 0 : 1 + twice(n - 1);
}

/* A line for each call, as the program itself sees it. */
NOINLINE void told(int number, unsigned long size, char *text, size_t length)
{
    printf("told %d %lu %s %zu\n", number, size, text, length);
}

static int calls = 23;

static void *run(void *number)
{
    for (int i = 1; i <= calls; i++) {
        struct config c = {.mode = (unsigned)i & 7,
                           .step = -(i & 15),
                           .ports = {(port)i, (port)(65536 - i)},
                           .inner = {(int8_t)-i, -(int64_t)i << 33},
                           .list = {{1, i}, {2, 2 * i}, {3, 3 * i}},
                           .word = 0x01020304,
                           .path = "/a/path",
                           .next = &config};
        const struct config *list = &config;
        char text[32];
        snprintf(c.name, sizeof c.name, "config %d", i);
        snprintf(text, sizeof text, "text %d", i);
        integers((int8_t)-i, (uint8_t)(256 - i), (int16_t)(-200 * i), (uint16_t)(65536 - i), -100000 * i,
                 4294967295u - (uint32_t)i);
        others(-((int64_t)i << 40), UINT64_MAX - (uint64_t)i, i % 2,
               i % 3 == 0   ? RED
               : i % 3 == 1 ? GREEN
                            : BLUE,
               (port)(65536 - i), (char)-i);
        many(i, 2, (short)-3, 4, 5, 6, (int8_t)-i, -(int64_t)i << 35, 4294967295u - (uint32_t)i);
        mixed(0.5, -i, (struct small){i, -i}, 0.25f, (struct floats){1, 2}, i, (struct large){{1, 2, 3}},
              (struct two){7, i}, (short)-i);
        fields(&c, text, &list, i % 2 ? NULL : &c, NULL);
        sink += give_large(-i).words[0] + twice(i % 3);
        config.list[2].total = i;
        config.inner.level = (int8_t)-i;
        config.ports[1] = (port)i;
        grid[2][4] = -i;
        if (!number)
            told(-i, (unsigned long)i << 40, text, (size_t)i);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    enum { MOST = 16 };
    pthread_t threads[MOST];
    long count = argc > 1 ? atol(argv[1]) : 1;
    if (argc > 2)
        calls = atoi(argv[2]);
    if (argc > 3) {
        char byte;
        printf("ready\n");
        fflush(stdout);
        if (read(STDIN_FILENO, &byte, 1) < 0)
            return 1;
    }
    for (long i = 1; i < count && i < MOST; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    run(NULL);
    for (long i = 1; i < count && i < MOST; i++)
        pthread_join(threads[i], NULL);
    printf("done\n");
    return sink == 1;
}
