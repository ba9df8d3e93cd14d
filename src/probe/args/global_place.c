/* Finds global variables, and whether the file's own is the one that its code uses. */
#include "probe/args/global_place.h"

#include <string.h>

#include "sym/debugglobal.h"
#include "sym/location.h"

/*
 * A program that uses a library's variable has a copy of it, which the library then uses too (copy relocations; the
 * loader's rules of symbol lookup): the library's own is never written. Which it is, only the process knows.
 */
static bool may_be_elsewhere(struct local_context *context, const struct binary *binary,
                             const struct debuglocal *global)
{
    struct location location;
    if (location_find(context->debuginfo, global->entry, context->function.instance, context->address, false,
                      &location) ||
        location.count != 1 || location.pieces[0].kind != LOCATION_IN_MEMORY)
        return false;
    const struct location_number *number = &location.pieces[0].number;
    return number->base == LOCATION_FILE && !number->loads && binary_shares_variable(binary, (uint64_t)number->offset);
}

bool global_place(struct local_context *context, const struct binary *binary, const char *name, struct argument *result)
{
    size_t length = strcspn(name, ".[");
    const char *whole = arena_string(context->arena, name, length);
    struct debuglocal global;
    bool declared;
    int code = debugglobal_find(context->debuginfo, context->address, whole, &global, &declared);
    if (code && !declared)
        return false;
    if (code) {
        *result = (struct argument){.place = ARGUMENT_NOWHERE, .type = "it is a variable of another file"};
    } else if (may_be_elsewhere(context, binary, &global)) {
        *result =
            (struct argument){.place = ARGUMENT_NOWHERE,
                              .type = "the library exports it, and a program that uses it has it in its own memory"};
    } else {
        *result = local_place(context, &global, name + length);
    }
    result->name = whole;
    return true;
}
