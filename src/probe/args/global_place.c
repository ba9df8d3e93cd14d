/* Finds global variables, and whether the file's own is the one that its code uses. */
#include "probe/args/global_place.h"

#include <string.h>

#include "sym/location.h"

bool global_address(const struct local_context *context, const struct debuglocal *global, uint64_t *address)
{
    struct location location;
    if (location_find(context->debuginfo, global->entry, context->function.instance, context->address, false,
                      &location) ||
        location.count != 1 || location.pieces[0].kind != LOCATION_IN_MEMORY)
        return false;
    const struct location_number *number = &location.pieces[0].number;
    *address = (uint64_t)number->offset;
    return number->base == LOCATION_FILE && !number->loads;
}

/* Why the variable is not where the file says; NULL: it is there. */
static const char *why_not_there(struct local_context *context, const struct binary *binary,
                                 const struct debuglocal *global)
{
    uint64_t address;
    if (!global_address(context, global, &address))
        return NULL;
    /* Linkers that drop a variable leave what describes it. */
    if (!binary_has_place(binary, address))
        return "the linker has left it out of the program: nothing uses it";
    /*
     * A program that uses a library's variable has a copy of it, which the library then uses too (copy relocations;
     * the loader's rules of symbol lookup): the library's own is never written. Which it is, only the process knows.
     */
    if (binary_shares_variable(binary, address))
        return "the library exports it, and a program that uses it has it in its own memory";
    return NULL;
}

static void refuse(struct local_context *context, const char *why, struct argument *result)
{
    *result = (struct argument){.place = ARGUMENT_NOWHERE, .type = arena_string(context->arena, why, strlen(why))};
}

static void place(struct local_context *context, const struct binary *binary, const struct debugglobal *global,
                  const char *part, struct argument *result)
{
    const char *why = NULL;
    switch (global->kind) {
    case DEBUGGLOBAL_NONE:
    case DEBUGGLOBAL_DECLARED:
        refuse(context, "it is a variable of another file", result);
        break;
    case DEBUGGLOBAL_LEFT_OUT:
        refuse(context, "the compiler has left it out of the program", result);
        break;
    case DEBUGGLOBAL_NO_VALUE:
    case DEBUGGLOBAL_OTHER:
        refuse(context, global->why, result);
        break;
    case DEBUGGLOBAL_VARIABLE:
        why = why_not_there(context, binary, &global->variable);
        if (why)
            refuse(context, why, result);
        else
            *result = local_place(context, &global->variable, part);
        break;
    }
}

bool global_place(struct local_context *context, const struct binary *binary, const struct debugglobal_code *code,
                  enum global_way way, const char *name, uint64_t alias, struct argument *result, bool *has_value)
{
    size_t length = strcspn(name, ".[");
    const char *whole = arena_string(context->arena, name, length);
    struct debugglobal global;
    int failed = alias                    ? debugglobal_define(context->debuginfo, code, alias, &global)
                 : way == GLOBAL_DECLARED ? debugglobal_find(context->debuginfo, code, whole, &global)
                                          : debugglobal_find_other(context->debuginfo, code, whole, &global);
    if (failed || (global.kind == DEBUGGLOBAL_NONE && !alias))
        return false;
    place(context, binary, &global, name + length, result);
    *has_value = global.kind != DEBUGGLOBAL_NO_VALUE;
    result->name = whole;
    return true;
}
