/* Types of debug information as the calling convention sees them. */
#include "probe/args/convention.h"

#include <string.h>

#include "sym/debugclass.h"
#include "sym/debugtypes.h"

enum { DEEPEST = 16 };

/* The parts of a struct that have been seen so far. */
struct leaves {
    struct passing_type *type;
    uint64_t base;
    int depth;
    bool unknown; /* one of them is nothing that is known here: a vector */
};

static void add_leaves(struct leaves *leaves, uint32_t number);

static void add_leaf(struct passing_type *type, uint64_t offset, unsigned size, bool floating)
{
    for (size_t i = 0; i < type->leaf_count && i < PASSING_LEAVES; i++) /* of a union, or bits of one number */
        if (type->leaves[i].offset == offset && type->leaves[i].size == size && type->leaves[i].floating == floating)
            return;
    if (type->leaf_count < PASSING_LEAVES)
        type->leaves[type->leaf_count] = (struct passing_leaf){offset, size, floating};
    type->leaf_count++;
}

/* A bit field is an integer in each word that has some of it, and never misaligned. */
static void add_bits(struct passing_type *type, uint64_t offset, const struct debugfield *field)
{
    add_leaf(type, offset, 1, false);
    add_leaf(type, offset + (uint64_t)(field->first_bit + field->bits - 1) / 8, 1, false);
}

static int visit_field(const struct debugfield *field, void *context)
{
    struct leaves *leaves = context;
    struct leaves inner = {leaves->type, leaves->base + field->offset, leaves->depth, false};
    if (field->bits)
        add_bits(leaves->type, inner.base, field);
    else
        add_leaves(&inner, field->type);
    leaves->unknown |= inner.unknown;
    return leaves->type->leaf_count > PASSING_LEAVES;
}

static void add_number(struct leaves *leaves, const struct debugtype *type)
{
    bool two = type->complex || (type->member && type->size > 8);
    unsigned size = (unsigned)(two ? type->size / 2 : type->size);
    /* A complex number of two long doubles is returned in other ways than one of two __float128. */
    leaves->unknown |= type->kind == DEBUGTYPE_VOID || (type->complex && type->size > 16) ||
                       type->kind == DEBUGTYPE_TEXT ||
                       (type->kind == DEBUGTYPE_OTHER && !type->complex && !type->member);
    for (unsigned i = 0; i < (two ? 2 : 1); i++)
        add_leaf(leaves->type, leaves->base + i * size, size, type->kind == DEBUGTYPE_FLOAT || type->complex);
}

static void add_leaves(struct leaves *leaves, uint32_t number)
{
    struct debugtype type;
    if (debugtype_get(number, &type) || leaves->depth == DEEPEST || leaves->type->leaf_count > PASSING_LEAVES)
        return;
    struct leaves inner = {leaves->type, leaves->base, leaves->depth + 1, false};
    if (type.kind == DEBUGTYPE_STRUCT) {
        debugtype_fields(number, visit_field, &inner);
    } else if (type.vector) {
        leaves->unknown = true; /* registers of which sizes hold it depends on the CPU that it is compiled for */
    } else if (type.kind == DEBUGTYPE_ARRAY) {
        struct debugtype element;
        for (uint64_t i = 0; i < type.count && i <= PASSING_LEAVES && !debugtype_get(type.element, &element); i++) {
            inner.base = leaves->base + i * element.size;
            add_leaves(&inner, type.element);
        }
    } else {
        leaves->type->x87 |= type.extended;
        add_number(leaves, &type);
    }
    leaves->unknown |= inner.unknown;
}

/* Registers hold a vector of 16 bytes on each CPU. */
static struct passing_type vector_type(const struct debugtype *type)
{
    if (type->size != 16)
        return (struct passing_type){0};
    return (struct passing_type){.size = 16, .leaves = {{0, 16, true}}, .leaf_count = 1};
}

struct passing_type convention_type(uint32_t number)
{
    struct passing_type passing = {0};
    struct debugtype type = {0};
    debugtype_get(number, &type);
    if (type.kind == DEBUGTYPE_VOID || type.kind == DEBUGTYPE_ARRAY)
        return type.vector ? vector_type(&type) : passing;
    struct leaves leaves = {.type = &passing};
    passing.size = type.size;
    passing.aggregate = type.kind == DEBUGTYPE_STRUCT || type.complex || type.member;
    if (type.kind == DEBUGTYPE_STRUCT) {
        enum class_passing class = debugclass_passing(number);
        passing.by_address = class == CLASS_BY_ADDRESS;
        passing.doubtful = class == CLASS_DOUBTFUL;
    }
    if (passing.by_address) /* whatever it consists of */
        return passing;
    add_leaves(&leaves, number);
    passing.empty = passing.aggregate && !passing.leaf_count && !passing.doubtful && type.size <= 16;
    if (leaves.unknown) {
        passing = (struct passing_type){0};
    } else if (passing.leaf_count >
               PASSING_LEAVES) { /* more than 16 bytes have, unless a union has many names for the same */
        passing.leaf_count = 0;
        passing.size = passing.size > 16 ? passing.size : 0;
    }
    return passing;
}

static bool is_fat_pointer(const struct debugtype *type)
{
    return type->own && type->size == 16 &&
           (!strcmp(type->own, "&str") || !strcmp(type->own, "&mut str") || !strncmp(type->own, "&[", 2) ||
            !strncmp(type->own, "&mut [", 6));
}

struct passing_type convention_rust_type(uint32_t number)
{
    struct debugtype type = {0};
    debugtype_get(number, &type);
    if (type.kind != DEBUGTYPE_STRUCT)
        return type.size <= 8 ? convention_type(number) : (struct passing_type){0};
    if (is_fat_pointer(&type))
        return (struct passing_type){
            .size = 16, .aggregate = true, .leaves = {{0, 8, false}, {8, 8, false}}, .leaf_count = 2};
    if (type.size > 16)
        return (struct passing_type){.size = type.size, .aggregate = true, .by_address = true, .doubtful = true};
    return (struct passing_type){0};
}
