/* Where the calling conventions of x86-64 and aarch64 put a function's parameters. */
#include "arch/passing.h"

#include <elf.h>

/* Registers for integers and for floating-point numbers. */
enum { X86_64_INTEGERS = 6, AARCH64_INTEGERS = 8, FLOATS = 8 };

static uint64_t round_up(uint64_t size, uint64_t to)
{
    return (size + to - 1) / to * to;
}

/* The largest of its leaves decides, unless someone has said otherwise, which no debug information tells. */
static uint64_t alignment_of(const struct passing_type *type)
{
    uint64_t alignment = 1;
    for (size_t i = 0; i < type->leaf_count; i++)
        if (type->leaves[i].size > alignment)
            alignment = type->leaves[i].size;
    return alignment > 16 ? 16 : alignment;
}

static bool is_packed(const struct passing_type *type)
{
    for (size_t i = 0; i < type->leaf_count; i++)
        if (type->leaves[i].size && type->leaves[i].offset % type->leaves[i].size)
            return true;
    return false;
}

/* True if TYPE would lie elsewhere if it were aligned to more than its numbers are: its size is then a multiple of
 * that. */
static bool is_perhaps_moved(const struct passing *passing, const struct passing_type *type)
{
    uint64_t most = type->size & -type->size;
    return type->aggregate && most >= 16 && alignment_of(type) < 16 && passing->stack % most;
}

static struct passed on_stack(struct passing *passing, const struct passing_type *type)
{
    uint64_t return_address = passing->machine == EM_X86_64 ? 8 : 0;
    if (passing->machine == EM_X86_64 && is_perhaps_moved(passing, type))
        passing->stack_lost = true;
    if (passing->stack_lost)
        return (struct passed){.in = PASSED_UNKNOWN};
    passing->stack = round_up(passing->stack, alignment_of(type) == 16 ? 16 : 8);
    struct passed passed = {.in = PASSED_STACK, .offset = return_address + passing->stack};
    passing->stack += round_up(type->size, 8);
    return passed;
}

static struct passed unknown(struct passing *passing)
{
    passing->lost = true;
    return (struct passed){.in = PASSED_UNKNOWN};
}

/* --- x86_64 --- */

/* Whether eightbyte NUMBER of TYPE goes into a register for floating-point numbers: if it has nothing else. */
static bool is_float(const struct passing_type *type, unsigned number)
{
    for (size_t i = 0; i < type->leaf_count; i++)
        if (type->leaves[i].offset / 8 <= number && number <= (type->leaves[i].offset + type->leaves[i].size - 1) / 8 &&
            !type->leaves[i].floating)
            return false;
    return true;
}

/* A long double and a struct of one are returned in a register of the x87 alike. */
static bool is_x87_alone(const struct passing_type *type)
{
    return type->x87 && type->size == 16 && type->leaf_count == 1;
}

/* True if registers cannot hold it, however many there are. */
static bool is_memory_x86_64(const struct passing_type *type)
{
    return type->x87 || type->size > 16 || (type->aggregate && is_packed(type));
}

static struct passed next_x86_64(struct passing *passing, const struct passing_type *type)
{
    bool scalar_float = !type->aggregate && type->leaf_count == 1 && type->leaves[0].floating;
    unsigned words = scalar_float ? 1 : (unsigned)round_up(type->size, 8) / 8, floats = 0;
    if (is_memory_x86_64(type))
        return on_stack(passing, type);
    for (unsigned i = 0; i < words; i++)
        floats += is_float(type, i);
    unsigned integers = words - floats;
    if (passing->splits_wide && !type->aggregate && integers == 2 && passing->integers + integers > X86_64_INTEGERS)
        return unknown(passing);
    if (passing->integers + integers > X86_64_INTEGERS || passing->floats + floats > FLOATS)
        return on_stack(passing, type);
    struct passed passed = {.in = !floats     ? PASSED_INTEGERS
                                  : !integers ? PASSED_FLOATS
                                              : PASSED_MIXED,
                            .first = passing->integers,
                            .count = integers};
    passing->integers += integers;
    passing->floats += floats;
    return passed;
}

/* --- aarch64 --- */

/* True for one to four floating-point numbers of one size and nothing else, which go into a register each. */
static bool is_homogeneous(const struct passing_type *type)
{
    for (size_t i = 0; i < type->leaf_count; i++)
        if (!type->leaves[i].floating || type->leaves[i].size != type->leaves[0].size)
            return false;
    return type->leaf_count >= 1 && type->leaf_count <= 4;
}

static struct passed next_aarch64(struct passing *passing, const struct passing_type *type)
{
    if (is_homogeneous(type)) {
        bool fit = passing->floats + type->leaf_count <= FLOATS;
        passing->floats = fit ? passing->floats + (unsigned)type->leaf_count : FLOATS;
        return fit ? (struct passed){.in = PASSED_FLOATS} : on_stack(passing, type);
    }
    bool by_address = type->size > 16;
    unsigned words = by_address ? 1 : (unsigned)round_up(type->size, 8) / 8;
    if (!by_address && alignment_of(type) == 16)
        passing->integers += passing->integers % 2;
    if (passing->integers + words > AARCH64_INTEGERS) {
        passing->integers = AARCH64_INTEGERS;
        return on_stack(passing, by_address ? &(struct passing_type){.size = 8} : type);
    }
    struct passed passed = {
        .in = by_address ? PASSED_ADDRESS : PASSED_INTEGERS, .first = passing->integers, .count = words};
    passing->integers += words;
    return passed;
}

/* --- both --- */

struct passing passing_begin(uint16_t machine, const struct passing_type *result)
{
    struct passing passing = {.machine = machine};
    /* Who calls says where a result is to be put that registers cannot hold: on aarch64 in a register of its own. */
    if (machine != EM_X86_64 || !result || result->empty)
        return passing;
    if (result->doubtful || !result->size)
        passing.lost = true;
    else if (result->aggregate && (result->by_address || (is_memory_x86_64(result) && !is_x87_alone(result))))
        passing.integers = 1;
    return passing;
}

struct passed passing_next(struct passing *passing, const struct passing_type *type)
{
    static const struct passing_type address = {.size = 8, .leaves = {{.size = 8}}, .leaf_count = 1};
    if (!passing->lost && passing->machine == EM_X86_64 && type->empty)
        return (struct passed){.in = PASSED_NOT};
    if (passing->lost || !type->size || type->doubtful || (type->aggregate && !type->leaf_count && !type->by_address))
        return unknown(passing);
    struct passed passed = passing->machine == EM_X86_64 ? next_x86_64(passing, type->by_address ? &address : type)
                                                         : next_aarch64(passing, type->by_address ? &address : type);
    if (type->by_address && passed.in == PASSED_INTEGERS)
        passed.in = PASSED_ADDRESS;
    return passed;
}
