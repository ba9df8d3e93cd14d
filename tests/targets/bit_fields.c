/* Bit fields of packed structs, which begin at any bit and end up to nine bytes on. */
#include <stdint.h>
#include <stdio.h>

#include "noinline.h"

#define PACKED __attribute__((packed))

/* FIRST bits before a field of WIDTH, and a byte that is its neighbour. */
#define FIELDS(first, width)                                                                                           \
    struct {                                                                                                           \
        uint8_t before : first;                                                                                        \
        uint64_t plain : width;                                                                                        \
        uint8_t after;                                                                                                 \
    } PACKED u##first##_##width;                                                                                       \
    struct {                                                                                                           \
        uint8_t before : first;                                                                                        \
        int64_t plain : width;                                                                                         \
        uint8_t after;                                                                                                 \
    } PACKED s##first##_##width

#define EACH(DO)                                                                                                       \
    DO(1, 63);                                                                                                         \
    DO(1, 64);                                                                                                         \
    DO(2, 62);                                                                                                         \
    DO(3, 62);                                                                                                         \
    DO(5, 60);                                                                                                         \
    DO(6, 64);                                                                                                         \
    DO(7, 1);                                                                                                          \
    DO(7, 2);                                                                                                          \
    DO(7, 57);                                                                                                         \
    DO(7, 58);                                                                                                         \
    DO(7, 64)

struct all {
    EACH(FIELDS);
};

struct all all;

NOINLINE void take(struct all *fields)
{
    __asm__ volatile("" : : "r"(fields) : "memory");
}

#define SET(first, width)                                                                                              \
    all.u##first##_##width.before = all.s##first##_##width.before = (uint8_t)~i;                                       \
    all.u##first##_##width.plain = bits;                                                                               \
    all.s##first##_##width.plain = (int64_t)bits;                                                                      \
    all.u##first##_##width.after = all.s##first##_##width.after = (uint8_t)~bits

#define PRINT(first, width)                                                                                            \
    printf("%u_%u %llx %lld\n", first, width, (unsigned long long)all.u##first##_##width.plain,                        \
           (long long)all.s##first##_##width.plain)

int main(void)
{
    uint64_t bits = 0x9e3779b97f4a7c15;
    for (int i = 0; i < 23; i++) {
        EACH(SET);
        EACH(PRINT);
        take(&all);
        bits = bits * 6364136223846793005 + 1442695040888963407;
    }
    return 0;
}
