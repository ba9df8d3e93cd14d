/* C types from the kernel's BTF. */
#include "compile/infer/ctype_btf.h"

#include <errno.h>
#include <string.h>

#include "compile/context/compiler.h"
#include "sys/kernel_types.h"

/*
 * A handle is a type's id and how many pointers lead to it: BTF need not have the type of a pointer to each struct.
 */
enum { POINTERS = 4, MAX_ID = (1 << 28) / POINTERS };

static int handle_of(uint32_t id, unsigned pointers)
{
    struct kernel_type type;
    while (!kernel_type_get(id, &type) && type.kind == KERNEL_POINTER && pointers < POINTERS) {
        id = type.element;
        pointers++;
    }
    return pointers < POINTERS && id < MAX_ID ? KERNEL_CTYPES + (int)(id * POINTERS + pointers) : 0;
}

static uint32_t id_of(int handle)
{
    return (uint32_t)(handle - KERNEL_CTYPES) / POINTERS;
}

static unsigned pointers_of(int handle)
{
    return (unsigned)(handle - KERNEL_CTYPES) % POINTERS;
}

int kernel_ctype_of(uint32_t id)
{
    return handle_of(id, 0);
}

/* "const struct task_struct *" */
static int parse(void *context, const char *declaration, struct error *err)
{
    char name[KERNEL_TYPE_NAME];
    uint32_t id;
    unsigned pointers = 0;
    (void)context;
    if (!strncmp(declaration, "const ", 6))
        declaration += 6;
    size_t length = strlen(declaration);
    for (; length && (declaration[length - 1] == '*' || declaration[length - 1] == ' '); length--)
        pointers += declaration[length - 1] == '*';
    if (length && length < sizeof name && pointers < POINTERS) {
        memcpy(name, declaration, length);
        name[length] = '\0';
        if (!kernel_type_find(name, &id))
            return handle_of(id, pointers);
    }
    error_set(err, -ENOENT, "neither ffi.cdef nor the kernel's BTF knows it");
    return 0;
}

static void describe(void *context, int handle, struct ctype *result)
{
    static const enum ctype_kind kinds[] = {
        [KERNEL_OTHER] = CTYPE_OTHER,     [KERNEL_VOID] = CTYPE_OTHER,      [KERNEL_INTEGER] = CTYPE_INTEGER,
        [KERNEL_BOOLEAN] = CTYPE_BOOLEAN, [KERNEL_POINTER] = CTYPE_POINTER, [KERNEL_ARRAY] = CTYPE_ARRAY,
        [KERNEL_STRUCT] = CTYPE_STRUCT,
    };
    struct compiler *compiler = context;
    char name[KERNEL_TYPE_NAME];
    struct kernel_type type = {0};
    unsigned pointers = pointers_of(handle);
    kernel_type_get(id_of(handle), &type);
    kernel_type_name(id_of(handle), name);
    result->kind = pointers ? CTYPE_POINTER : kinds[type.kind];
    result->size = pointers ? sizeof(void *) : type.size;
    result->bits = pointers ? 0 : type.bits;
    result->count = pointers ? 0 : type.count;
    result->name = arena_format(&compiler->arena, "%s%s%.*s", name, pointers ? " " : "", (int)pointers, "****");
}

static int element(void *context, int handle, struct error *err)
{
    struct kernel_type type;
    uint32_t id = id_of(handle);
    unsigned pointers = pointers_of(handle);
    (void)context;
    (void)err;
    if (!pointers && (kernel_type_get(id, &type) || type.kind != KERNEL_ARRAY))
        return 0;
    int found = pointers ? handle_of(id, pointers - 1) : handle_of(type.element, 0);
    bool is_defined =
        !kernel_type_get(id_of(found ? found : handle), &type) && type.kind != KERNEL_OTHER && type.kind != KERNEL_VOID;
    return found && (pointers_of(found) || is_defined) ? found : 0;
}

static int field(void *context, int handle, const char *name, struct ctype_field *result, struct error *err)
{
    struct kernel_member member = {0};
    (void)context;
    (void)err;
    if (pointers_of(handle) || kernel_type_member(id_of(handle), name, &member))
        return 0;
    result->offset = member.offset;
    result->first_bit = member.first_bit;
    result->bits = member.bits;
    return handle_of(member.type, 0);
}

const struct ctype_source kernel_ctypes = {parse, describe, element, field};
