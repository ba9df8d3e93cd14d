/* Where parameters are, by the calling conventions of both CPUs, on either. */
#include <elf.h>

#include "arch/passing.h"
#include "tap.h"

#define NUMBER(bytes)                                                                                                  \
    {                                                                                                                  \
        .size = bytes, .leaves = {{0, bytes, false}}, .leaf_count = 1                                                  \
    }
#define FLOAT(bytes)                                                                                                   \
    {                                                                                                                  \
        .size = bytes, .leaves = {{0, bytes, true}}, .leaf_count = 1                                                   \
    }

static const struct passing_type
    byte = NUMBER(1),
    word = NUMBER(4), number = NUMBER(8), wide = NUMBER(16), real = FLOAT(8), single = FLOAT(4), quad = FLOAT(16),
    x87 = {.size = 16, .x87 = true, .leaves = {{0, 16, true}}, .leaf_count = 1},
    pair = {.size = 16, .aggregate = true, .leaves = {{0, 8, false}, {8, 8, false}}, .leaf_count = 2},
    small = {.size = 8, .aggregate = true, .leaves = {{0, 4, false}, {4, 4, true}}, .leaf_count = 2},
    mixed = {.size = 16, .aggregate = true, .leaves = {{0, 8, false}, {8, 8, true}}, .leaf_count = 2},
    reals = {.size = 24, .aggregate = true, .leaves = {{0, 8, true}, {8, 8, true}, {16, 8, true}}, .leaf_count = 3},
    two_reals = {.size = 16, .aggregate = true, .leaves = {{0, 8, true}, {8, 8, true}}, .leaf_count = 2},
    large = {.size = 24, .aggregate = true, .leaves = {{0, 8, false}, {8, 8, false}, {16, 8, false}}, .leaf_count = 3},
    packed = {.size = 9, .aggregate = true, .leaves = {{0, 1, false}, {1, 8, false}}, .leaf_count = 2},
    object = {.size = 8, .aggregate = true, .by_address = true, .leaves = {{0, 8, false}}, .leaf_count = 1},
    opaque = {.size = 4, .aggregate = true},
    perhaps_moved = {.size = 32,
                     .aggregate = true,
                     .leaves = {{0, 8, false}, {8, 8, false}, {16, 8, false}, {24, 8, false}},
                     .leaf_count = 4},
    complex = {.size = 16, .aggregate = true, .leaves = {{0, 8, true}, {8, 8, true}}, .leaf_count = 2},
    extended = {.size = 16, .aggregate = true, .x87 = true, .leaves = {{0, 16, true}}, .leaf_count = 1},
    extended_or_not = {.size = 16,
                       .aggregate = true,
                       .x87 = true,
                       .leaves = {{0, 16, true}, {0, 8, true}},
                       .leaf_count = 2},
    vector = {.size = 16, .leaves = {{0, 16, true}}, .leaf_count = 1}, undefined = {.size = 0},
    empty = {.size = 1, .aggregate = true, .empty = true},
    doubtful = {.size = 4, .aggregate = true, .doubtful = true, .leaves = {{0, 4, false}}, .leaf_count = 1};

enum {
    MOST = 11,
    I = PASSED_INTEGERS,
    F = PASSED_FLOATS,
    M = PASSED_MIXED,
    S = PASSED_STACK,
    A = PASSED_ADDRESS,
    SPLITS = 1 << 16,
    U = PASSED_UNKNOWN,
    N = PASSED_NOT
};

static const struct {
    const char *text;
    uint32_t machine;
    const struct passing_type *result, *types[MOST + 1];
    struct {
        int in, where;
    } want[MOST]; /* WHERE: the first register, or bytes above the stack pointer */
} cases[] = {
    {"integers",
     EM_X86_64,
     NULL,
     {&byte, &word, &number, &number, &number, &number, &byte, &number},
     {{I, 0}, {I, 1}, {I, 2}, {I, 3}, {I, 4}, {I, 5}, {S, 8}, {S, 16}}},
    {"floating-point numbers take registers of their own",
     EM_X86_64,
     NULL,
     {&real, &number, &single, &number},
     {{F, 0}, {I, 0}, {F, 0}, {I, 1}}},
    {"structs", EM_X86_64, NULL, {&pair, &small, &mixed, &large, &number}, {{I, 0}, {I, 2}, {M, 3}, {S, 8}, {I, 4}}},
    {"a struct that needs more registers than are left leaves them to others",
     EM_X86_64,
     NULL,
     {&number, &number, &number, &number, &number, &pair, &number},
     {{I, 0}, {I, 1}, {I, 2}, {I, 3}, {I, 4}, {S, 8}, {I, 5}}},
    {"128 bits are aligned on the stack",
     EM_X86_64,
     NULL,
     {&wide, &wide, &wide, &number, &wide},
     {{I, 0}, {I, 2}, {I, 4}, {S, 8}, {S, 24}}},
    {"long double", EM_X86_64, NULL, {&x87, &number, &quad}, {{S, 8}, {I, 0}, {F, 0}}},
    {"a packed struct", EM_X86_64, NULL, {&packed, &number}, {{S, 8}, {I, 0}}},
    {"the place of a large result", EM_X86_64, &large, {&number}, {{I, 1}}},
    {"the result is small", EM_X86_64, &pair, {&number}, {{I, 0}}},
    {"objects of C++", EM_X86_64, &object, {&object, &number}, {{A, 1}, {I, 2}}},
    {"behind what is not known", EM_X86_64, NULL, {&number, &opaque, &number}, {{I, 0}, {U, 0}, {U, 0}}},
    {"objects without members", EM_X86_64, NULL, {&number, &empty, &number}, {{I, 0}, {N, 0}, {I, 1}}},
    {"objects of which nobody knows how they are passed",
     EM_X86_64,
     NULL,
     {&number, &doubtful, &number},
     {{I, 0}, {U, 0}, {U, 0}}},
    {"behind the place of a result that there may be", EM_X86_64, &doubtful, {&number}, {{U, 0}}},
    {"128 bits that the last register does not hold",
     EM_X86_64,
     NULL,
     {&word, &word, &word, &word, &word, &wide, &word, &word},
     {{I, 0}, {I, 1}, {I, 2}, {I, 3}, {I, 4}, {S, 8}, {I, 5}, {S, 24}}},
    {"the same where compilers differ",
     EM_X86_64 | SPLITS,
     NULL,
     {&word, &wide, &word, &word, &wide, &word},
     {{I, 0}, {I, 1}, {I, 3}, {I, 4}, {U, 0}, {U, 0}}},
    {"the place of a result of which nothing is known", EM_X86_64, &undefined, {&number}, {{U, 0}}},
    {"a result without members", EM_X86_64, &empty, {&number}, {{I, 0}}},
    {"a struct of a long double, which the x87 returns", EM_X86_64, &extended, {&number}, {{I, 0}}},
    {"a union of a long double and a double, which it does not", EM_X86_64, &extended_or_not, {&number}, {{I, 1}}},
    {"a complex result, and complex numbers", EM_X86_64, &complex, {&complex, &number}, {{F, 0}, {I, 0}}},
    {"a vector, as result and as parameter", EM_X86_64, &vector, {&vector, &number}, {{F, 0}, {I, 0}}},
    {"a struct whose alignment may move it on the stack",
     EM_X86_64,
     NULL,
     {&perhaps_moved, &large, &perhaps_moved, &word, &large},
     {{S, 8}, {S, 40}, {U, 0}, {I, 0}, {U, 0}}},
    {"a result of which nothing is known has a register of its own", EM_AARCH64, &undefined, {&number}, {{I, 0}}},
    {"integers",
     EM_AARCH64,
     NULL,
     {&byte, &word, &number, &number, &number, &number, &number, &number, &byte, &number},
     {{I, 0}, {I, 1}, {I, 2}, {I, 3}, {I, 4}, {I, 5}, {I, 6}, {I, 7}, {S, 0}, {S, 8}}},
    {"structs", EM_AARCH64, NULL, {&pair, &small, &mixed, &large, &number}, {{I, 0}, {I, 2}, {I, 3}, {A, 5}, {I, 6}}},
    {"structs of floating-point numbers",
     EM_AARCH64,
     NULL,
     {&reals, &two_reals, &reals, &reals, &real, &number},
     {{F, 0}, {F, 0}, {F, 0}, {S, 0}, {S, 24}, {I, 0}}},
    {"a struct that needs more registers than are left takes them from others",
     EM_AARCH64,
     NULL,
     {&number, &number, &number, &number, &number, &number, &number, &pair, &number},
     {{I, 0}, {I, 1}, {I, 2}, {I, 3}, {I, 4}, {I, 5}, {I, 6}, {S, 0}, {S, 16}}},
    {"128 bits begin at an even register", EM_AARCH64, NULL, {&number, &wide, &number}, {{I, 0}, {I, 2}, {I, 4}}},
    {"the place of a large result is in a register of its own", EM_AARCH64, &large, {&number}, {{I, 0}}},
    {"objects of C++", EM_AARCH64, NULL, {&object, &number}, {{A, 0}, {I, 1}}},
};

int main(void)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct passing passing = passing_begin((uint16_t)cases[c].machine, cases[c].result);
        passing.splits_wide = cases[c].machine & SPLITS;
        bool good = true;
        for (size_t i = 0; cases[c].types[i]; i++) {
            struct passed passed = passing_next(&passing, cases[c].types[i]);
            int in = (int)passed.in;
            int where = in == S ? (int)passed.offset : in == I || in == A || in == M ? (int)passed.first : 0;
            if (in == cases[c].want[i].in && where == cases[c].want[i].where)
                continue;
            good = false;
            fprintf(stderr, "# parameter %zu: in %d at %d, want %d at %d\n", i, in, where, cases[c].want[i].in,
                    cases[c].want[i].where);
        }
        ok(good, "%s: %s", (uint16_t)cases[c].machine == EM_X86_64 ? "x86_64" : "aarch64", cases[c].text);
    }
    return done_testing();
}
