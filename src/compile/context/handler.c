/* Properties that follow from a handler's kind. */
#include "compile/context/handler.h"

#include <string.h>

uint32_t names_capacity(const struct handler *handler)
{
    size_t longest = 0;
    for (size_t i = 0; i < handler->name_count; i++)
        longest = strlen(handler->names[i]) > longest ? strlen(handler->names[i]) : longest;
    uint32_t capacity =
        (uint32_t)(longest < NAMES_MAX_CAPACITY ? longest + 8 : NAMES_MAX_CAPACITY) & ~7u; /* and the mark */
    return capacity;
}

bool handler_reads_kernel(const struct handler *handler)
{
    return handler->of_kernel || (handler->provider->kernel_memory && !handler->user_memory);
}
