/*
 * What users of other tracers have reported in public (doc/reports.md), each as small as it gets: arguments and values,
 * functions and stacks, USDT probes.
 *
 *   reports CASE
 *
 * The cases are the functions below, by their names without the "case_". What each does is at its head, with the prime
 * numbers 23 and 101 where a number is free.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../examples/usdt.h"
#include "noinline.h"
#include "reports.h"

static volatile long sink;

/* memcmp of 1,001 … 1,023 bytes. */
static void case_ifunc(void)
{
    static char first[2000], second[2000];

    for (size_t i = 1; i <= SOME; i++)
        sink += memcmp(first, second, 1000 + i);
}

/* power(5, 4), which is 625. */
NOINLINE double power(double base, int exponent)
{
    double product = 1;

    for (int i = 0; i < exponent; i++)
        product *= base;
    return product;
}

static void case_power(void)
{
    printf("%g\n", power(5, 4));
}

/* level(n) for -100, -5, -50, 8, 0. */
NOINLINE void level(int n)
{
    KEEP(n);
}

static void case_levels(void)
{
    level(-100);
    level(-5);
    level(-50);
    level(8);
    level(0);
}

/* negative(n) for -100, -5, -50 only. */
NOINLINE void negative(int n)
{
    KEEP(n);
}

static void case_negatives(void)
{
    negative(-100);
    negative(-5);
    negative(-50);
}

/* counted(i), i = 1 … 101. */
NOINLINE void counted(int i)
{
    KEEP(i);
}

static void case_counted(void)
{
    for (int i = 1; i <= MANY; i++)
        counted(i);
}

/* mixed(-23, "Weimar", 2^40, 101). */
NOINLINE void mixed(int number, const char *name, long big, unsigned char small)
{
    KEEP(number);
    KEEP(name);
    KEEP(big);
    KEEP(small);
}

static void case_mixed(void)
{
    mixed(-23, "Weimar", 1L << 40, MANY);
}

/* word() with "hell", "hello", "hello!", "" and "hello" again. */
NOINLINE void word(const char *text)
{
    KEEP(text);
}

static void case_words(void)
{
    word("hell");
    word("hello");
    word("hello!");
    word("");
    word("hello");
}

/* Opens a path of 201 bytes, "/" and two hundred "o", which is not there. */
static void case_long_path(void)
{
    char path[202];

    memset(path, 'o', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = 0;
    sink = open(path, O_RDONLY);
    word(path);
}

/* packet() with version 4, length 5, offset 0x12345, delta -7. */
struct packet {
    uint8_t length : 4, version : 4;
    uint32_t offset : 20, flags : 3;
    int delta : 5;
};

NOINLINE void packet(const struct packet *p)
{
    KEEP(p);
}

static void case_packet(void)
{
    struct packet p = {.length = 5, .version = 4, .offset = 0x12345, .flags = 6, .delta = -7};

    packet(&p);
}

/* pointed() with {123, "hello"}. */
struct pointed {
    int a;
    char b[10];
};

NOINLINE void pointed(const struct pointed *p)
{
    KEEP(p);
}

static void case_pointed(void)
{
    struct pointed p = {123, "hello"};

    pointed(&p);
}

/* unnamed(): 7, 23, 101 in structures and unions without names. */
struct unnamed {
    struct {
        long first;
        union {
            int second;
            char bytes[4];
        };
    };
    long third;
};

NOINLINE void unnamed(const struct unnamed *u)
{
    KEEP(u);
}

static void case_unnamed(void)
{
    struct unnamed u = {.first = 7, .second = SOME, .third = MANY};

    unnamed(&u);
}

/* mood() and moody() with MINUS_ONE, ONE, TWO. */
enum mood { MINUS_ONE = -1, ZERO, ONE, TWO };

struct moody {
    char before;
    enum mood mood;
};

NOINLINE void mood(enum mood m)
{
    KEEP(m);
}

NOINLINE void moody(const struct moody *m)
{
    KEEP(m);
}

static void case_moods(void)
{
    static const enum mood moods[] = {MINUS_ONE, ONE, TWO};

    for (int i = 0; i < 3; i++) {
        struct moody m = {'x', moods[i]};
        mood(moods[i]);
        moody(&m);
    }
}

/* take_pack(0x20, 0x30, {0x40, 0x50, 0x60}). */
struct pack {
    int fine, victim, killer;
};

NOINLINE int take_pack(int a, int b, struct pack p)
{
    return a + b + p.fine + p.victim + p.killer;
}

static void case_pack(void)
{
    struct pack p = {0x40, 0x50, 0x60};

    sink = take_pack(0x20, 0x30, p);
}

/* path_a → path_b → path_c → path_d, 23 times. */
NOINLINE void path_d(void)
{
    KEEP(0);
}

NOINLINE void path_c(void)
{
    path_d();
    KEEP(0);
}

NOINLINE void path_b(void)
{
    path_c();
    KEEP(0);
}

NOINLINE void path_a(void)
{
    path_b();
    KEEP(0);
}

static void case_path(void)
{
    for (volatile int i = 0; i < SOME; i++) /* one call in the code, however it is optimised */
        path_a();
}

/* leaves_d jumps out of leaves_b, 23 times; each time leaves_e is called, and returns. */
static jmp_buf out;

NOINLINE void leaves_d(void)
{
    longjmp(out, 1);
}

NOINLINE void leaves_b(void)
{
    leaves_d();
    KEEP(0);
}

NOINLINE int leaves_e(int i)
{
    KEEP(i);
    return i + 1;
}

static void case_jumps(void)
{
    volatile int i = 0;

    while (i < SOME) {
        if (setjmp(out) == 0)
            leaves_b();
        i = leaves_e(i);
    }
}

/* nest_outer → 2 × nest_inner, each of which sleeps for 10 ms; 3 times. */
NOINLINE void nest_inner(void)
{
    usleep(10000);
}

NOINLINE void nest_outer(void)
{
    nest_inner();
    nest_inner();
    KEEP(0);
}

static void case_nested(void)
{
    for (int i = 0; i < 3; i++)
        nest_outer();
}

/* recurs(5) … recurs(1), each of which sleeps for 2 ms before it calls the next. */
NOINLINE int recurs(int depth)
{
    usleep(2000);
    return depth > 1 ? recurs(depth - 1) + 1 : 1;
}

static void case_recursion(void)
{
    sink = recurs(5);
}

/* Four threads call threaded() 101 times each, which sleeps for 1 ms. */
NOINLINE void threaded(void)
{
    usleep(1000);
}

static void *calls_threaded(void *nothing)
{
    for (int i = 0; i < MANY; i++)
        threaded();
    return nothing;
}

static void case_threads(void)
{
    in_threads(4, calls_threaded);
}

/* Functions out of .text: hot_one 23 times, unlikely_one 101 times. */
NOINLINE __attribute__((section(".text.hot.one"))) void hot_one(int i)
{
    KEEP(i);
}

NOINLINE __attribute__((section(".text_unlikely_one"))) void unlikely_one(int i)
{
    KEEP(i);
}

static void case_sections(void)
{
    for (int i = 0; i < SOME; i++)
        hot_one(i);
    for (int i = 0; i < MANY; i++)
        unlikely_one(i);
}

/* A USDT probe with arguments of 1, 2, 4 bytes, signed and not, in registers whose upper parts hold something else. */
NOINLINE void small_arguments(long a, long b, long c, long d)
{
    __asm__ volatile(USDT("reports", "small", "-1@%0 1@%1 -2@%2 -4@%3 4@%3")::"r"(a), "r"(b), "r"(c), "r"(d));
}

static void case_small_arguments(void)
{
    small_arguments(0x7777777777777ffbL, 0x77777777777777fbL, 0x777777777777fed4L, 0x77777777fffffc18L);
}

/* A USDT probe with a text and its length, "hello" of "hello world". */
static void case_usdt_text(void)
{
    const char *text = "hello world";
    size_t length = 5;

    __asm__ volatile(USDT("reports", "text", "8@%0 8@%1")::"r"(text), "r"(length));
}

/* A USDT probe in seven places behind its semaphore, each passed 23 times. */
__attribute__((section(".probes"), used)) volatile unsigned short reports_hit_semaphore;

#define HIT(place) __asm__ volatile(USDT_GUARDED("reports", "hit", "reports_hit_semaphore", "-4@%0")::"nor"(place))

static void case_places(void)
{
    for (int i = 0; i < SOME; i++) {
        if (!reports_hit_semaphore)
            continue;
        HIT(1);
        HIT(2);
        HIT(3);
        HIT(4);
        HIT(5);
        HIT(6);
        HIT(7);
    }
}

/* A pointer to nothing 23 times, and a text 101 times. */
static void case_bad_pointers(void)
{
    for (int i = 0; i < SOME; i++)
        word((const char *)0x10);
    for (int i = 0; i < MANY; i++)
        word("good");
}

int main(int argc, char **argv)
{
    static const struct report_case cases[] = {
        {"ifunc", case_ifunc},
        {"power", case_power},
        {"levels", case_levels},
        {"negatives", case_negatives},
        {"counted", case_counted},
        {"mixed", case_mixed},
        {"words", case_words},
        {"long_path", case_long_path},
        {"packet", case_packet},
        {"pointed", case_pointed},
        {"unnamed", case_unnamed},
        {"moods", case_moods},
        {"pack", case_pack},
        {"path", case_path},
        {"jumps", case_jumps},
        {"nested", case_nested},
        {"recursion", case_recursion},
        {"threads", case_threads},
        {"sections", case_sections},
        {"small_arguments", case_small_arguments},
        {"usdt_text", case_usdt_text},
        {"places", case_places},
        {"bad_pointers", case_bad_pointers},
        {NULL, NULL},
    };

    return run_case(cases, argc > 1 ? argv[1] : "");
}
