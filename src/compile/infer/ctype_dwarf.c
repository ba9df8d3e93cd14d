/* C types from the debug information of the traced program. */
#include "compile/infer/ctype_dwarf.h"

#include <errno.h>

#include "compile/context/compiler.h"
#include "compile/infer/ctype_btf.h"
#include "sym/debugtypes.h"

/* A handle is a type's number and how many pointers lead to it: each unit of a program has pointers of its own to one
 * struct. */
enum { POINTERS = 4, MAX_NUMBER = (KERNEL_CTYPES - DEBUG_CTYPES) / POINTERS };

static int handle_of(uint32_t number, unsigned pointers)
{
    struct debugtype type;
    while (!debugtype_get(number, &type) && type.kind == DEBUGTYPE_POINTER && pointers < POINTERS) {
        number = type.element;
        pointers++;
    }
    return pointers < POINTERS && number < MAX_NUMBER ? DEBUG_CTYPES + (int)(number * POINTERS + pointers) : 0;
}

static uint32_t number_of(int handle)
{
    return (uint32_t)(handle - DEBUG_CTYPES) / POINTERS;
}

static unsigned pointers_of(int handle)
{
    return (unsigned)(handle - DEBUG_CTYPES) % POINTERS;
}

int debug_ctype_of(uint32_t number)
{
    return handle_of(number, 0);
}

int debug_ctype_to(uint32_t number)
{
    return handle_of(number, 1);
}

static int parse(void *context, const char *declaration, struct error *err)
{
    (void)context;
    error_set(err, -ENOENT, "'%s' is not looked for in debug information", declaration);
    return 0;
}

static void describe(void *context, int handle, struct ctype *result)
{
    static const enum ctype_kind kinds[] = {
        [DEBUGTYPE_OTHER] = CTYPE_OTHER,     [DEBUGTYPE_VOID] = CTYPE_OTHER,    [DEBUGTYPE_INTEGER] = CTYPE_INTEGER,
        [DEBUGTYPE_BOOLEAN] = CTYPE_BOOLEAN, [DEBUGTYPE_FLOAT] = CTYPE_OTHER,   [DEBUGTYPE_POINTER] = CTYPE_POINTER,
        [DEBUGTYPE_ARRAY] = CTYPE_ARRAY,     [DEBUGTYPE_STRUCT] = CTYPE_STRUCT, [DEBUGTYPE_TEXT] = CTYPE_OTHER,
    };
    struct compiler *compiler = context;
    char name[DEBUGTYPE_NAME];
    struct debugtype type = {0};
    unsigned pointers = pointers_of(handle);
    debugtype_get(number_of(handle), &type);
    debugtype_name(number_of(handle), name);
    result->kind = pointers                                          ? CTYPE_POINTER
                   : type.size > 8 && type.kind == DEBUGTYPE_INTEGER ? CTYPE_OTHER
                                                                     : kinds[type.kind];
    result->size = pointers ? sizeof(void *) : type.size;
    result->bits = pointers || result->kind == CTYPE_OTHER ? 0 : type.bits;
    result->count = pointers ? 0 : type.count;
    result->name = arena_format(&compiler->arena, "%s%s%.*s", name, pointers ? " " : "", (int)pointers, "****");
}

static int element(void *context, int handle, struct error *err)
{
    struct debugtype type;
    uint32_t number = number_of(handle);
    unsigned pointers = pointers_of(handle);
    (void)context;
    (void)err;
    if (!pointers && (debugtype_get(number, &type) || type.kind != DEBUGTYPE_ARRAY))
        return 0;
    int found = pointers ? handle_of(number, pointers - 1) : handle_of(type.element, 0);
    if (!found || debugtype_get(number_of(found), &type))
        return 0;
    return pointers_of(found) ||
                   (type.kind != DEBUGTYPE_OTHER && type.kind != DEBUGTYPE_VOID && type.kind != DEBUGTYPE_TEXT)
               ? found
               : 0;
}

static int field(void *context, int handle, const char *name, struct ctype_field *result, struct error *err)
{
    struct debugfield found = {0};
    (void)context;
    (void)err;
    if (pointers_of(handle) || debugtype_field(number_of(handle), name, &found))
        return 0;
    result->offset = found.offset;
    result->first_bit = found.first_bit;
    result->bits = found.bits;
    return handle_of(found.type, 0);
}

const struct ctype_source debug_ctypes = {parse, describe, element, field};
