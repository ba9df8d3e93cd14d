/* By the bits of the result's register that count: a handler is compiled for each group. */
#include "probe/args/result_groups.h"

#include <stdbool.h>

/* The group of functions that return RESULT. Where nobody knows the type, all bits count, as of a long. */
static struct result_group group_of(const struct function_result *result)
{
    const struct argument *type = &result->type;
    if (!result->why && type->place == ARGUMENT_NOWHERE)
        return (struct result_group){.none = type->type};
    bool counts = !result->why && type->kind != ARGUMENT_POINTER && type->bits > -64 && type->bits <= 64;
    return (struct result_group){.bits = counts ? type->bits : 0}; /* 64: without a sign */
}

/* True if all of RESULTS that are numbers are whole words without a sign. Among others these are words with a sign, so
 * that a handler's values are all of one type. */
static bool all_unsigned(const struct function_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct result_group group = group_of(&results[i]);
        if (!group.none && group.bits != 64)
            return false;
    }
    return true;
}

size_t result_groups_divide(const struct function_result *results, size_t count, size_t *of,
                            struct result_group *groups)
{
    bool is_unsigned = all_unsigned(results, count);
    size_t group_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct result_group group = group_of(&results[i]);
        size_t n = 0;
        if (group.bits == 64 && !is_unsigned)
            group.bits = 0;
        while (n < group_count && (groups[n].bits != group.bits || !groups[n].none != !group.none))
            n++;
        if (n == group_count)
            groups[group_count++] = group;
        of[i] = n;
        groups[n].count++;
    }
    return group_count;
}
