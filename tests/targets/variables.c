/*
 * Functions with variables of all types and scopes, to be read where marks in comments say.
 *
 *   variables [CALLS]   calls each function CALLS (23) times, the I-th time with arguments made of I
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "noinline.h"

/* Has the compiler keep VALUE up to here, where it likes; and lets it know nothing of VALUE any more. */
#define KEEP(value) __asm__ volatile("" : : "r"(value) : "memory")
#define HIDE(value) __asm__ volatile("" : "+r"(value))

#ifdef __x86_64__
#define HOLD(value) __asm__ volatile("" : : "x"(value) : "memory") /* the same in a vector register */
/* Overwrites the registers that calls need not preserve. */
#define FORGET() __asm__ volatile("" : : : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory")
#else
#define HOLD(value) __asm__ volatile("" : : "w"(value) : "memory")
#define FORGET() __asm__ volatile("" : : : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "memory")
#endif

enum color { RED = -2, GREEN, BLUE = 5 };
typedef int four __attribute__((vector_size(16)));
struct inner {
    int16_t level;
    uint64_t total;
};
struct request {
    const char *path;
    unsigned mode : 3;
    signed step : 5;
    struct inner inner, list[2];
    struct request *next;
};
static volatile int sink;

static NOINLINE void types(int i)
{
    int8_t i8 = (int8_t)-i;
    uint16_t u16 = (uint16_t)(65536 - i);
    int64_t i64 = -8589934592LL * i;
    uint64_t u64 = UINT64_MAX - (unsigned)i;
    bool odd = i % 2;
    enum color color = i % 3 ? BLUE : RED;
    const char *text = i % 2 ? "odd" : "even";
    struct request request = {.path = text, .mode = (unsigned)i % 8, .step = -(i % 16), .inner = {(int16_t)-i, u64}};
    char name[16];
    int numbers[3] = {i, 2 * i, 3 * i};
    struct request *pointer = &request;
    static int counted;
    request.list[1].level = (int16_t)(3 * i);
    request.next = pointer;
    counted += 2;
    snprintf(name, sizeof name, "name %d", i);
    KEEP(&request);
    KEEP(name);
    KEEP(numbers);
    sink = counted; /* at: types */
    KEEP((long)i8 + u16 + i64 + (long)u64 + odd + color);
    KEEP(text);
    KEEP(pointer);
}

static inline __attribute__((always_inline)) int square(int number)
{
    int result = number * number;
    sink = result; /* at: inlined */
    return result;
}

static NOINLINE int scopes(int n)
{
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        int n = 10 * i + 7;
        HIDE(i);
        sink = n; /* at: inner */
        sum += n;
    }
    sum += square(n + 1);
    sink = sum; /* at: outer */
    return sum + n;
}

static NOINLINE int lengths(int n)
{
    int list[n];
    for (int i = 0; i < n; i++)
        list[i] = i * n;
    KEEP(list);
    sink = list[n - 1]; /* at: lengths */
    return list[n / 2];
}

static NOINLINE int passed(int first, int second)
{
    KEEP(first);
    FORGET();
    sink = 1; /* at: passed */
    return 0;
}
static NOINLINE int passes(int i)
{
    int result = passed(i, 3 * i);
    KEEP(i);
    return result;
}

static NOINLINE int gone(int i)
{
    int early = i + 1, late;
    HIDE(early);
    KEEP(early); /* at: early */
    FORGET();
    late = i * 5;
    KEEP(late);
    sink = 2; /* at: late */
    KEEP(i);
    return 0;
}

static NOINLINE int others(int i)
{
    static _Thread_local int own;
    double ratio = i / 2.0;
    four vector = {i, i, i, i};
    __int128 wide = (__int128)i << 64;
    struct inner parts = {(int16_t)i, 7};
    own += i;
    KEEP((uint64_t)(wide >> 64));
    KEEP(parts.level);
    HOLD(ratio);
    HOLD(vector);
    sink = own; /* at: others */
    KEEP((uint64_t)(wide >> 64));
    KEEP(parts.level);
    KEEP(parts.total);
    HOLD(ratio);
    HOLD(vector);
    return 0;
}

int main(int argc, char **argv)
{
    int calls = argc > 1 ? atoi(argv[1]) : 23;
    for (int i = 1; i <= calls; i++) {
        types(i);
        scopes(i);
        lengths(i % 5 + 3);
        passes(i);
        gone(i);
        others(i);
    }
    puts("done");
    return 0;
}
