#include "compile/ctype.h"

#include <string.h>

#include "compile/compiler.h"

static const struct ctype_source *source_of(const struct compiler *compiler)
{
    return compiler->environment.ctypes;
}

const struct ctype *ctype_of(struct compiler *compiler, int handle)
{
    for (size_t i = 0; i < compiler->ctype_count; i++)
        if (compiler->ctypes[i]->handle == handle)
            return compiler->ctypes[i];
    compiler->ctypes =
        arena_grow(&compiler->arena, compiler->ctypes, compiler->ctype_count, sizeof *compiler->ctypes);
    struct ctype *type = arena_allocate(&compiler->arena, sizeof *type);
    source_of(compiler)->describe(compiler->environment.context, handle, type);
    type->handle = handle;
    return compiler->ctypes[compiler->ctype_count++] = type;
}

const struct ctype *ctype_parse(struct compiler *compiler, const struct position *position, const char *declaration)
{
    struct error err = { 0 };
    int handle = source_of(compiler)->parse(compiler->environment.context, declaration, &err);
    if (!handle)
        compile_fail(compiler, position, "up.cast(\"%s\"): %s", declaration, err.text);
    return ctype_of(compiler, handle);
}

const struct ctype *ctype_find(struct compiler *compiler, const char *declaration)
{
    struct error err = { 0 };
    int handle = source_of(compiler)->parse(compiler->environment.context, declaration, &err);
    return handle ? ctype_of(compiler, handle) : NULL;
}

const struct ctype *ctype_element(struct compiler *compiler, const struct position *position, const struct ctype *type)
{
    struct error err = { 0 };
    int handle = source_of(compiler)->element(compiler->environment.context, type->handle, &err);
    if (handle)
        return ctype_of(compiler, handle);
    if (!strcmp(type->name, "void *"))
        compile_fail(compiler, position, "a 'void *' does not say what it leads to: up.cast(\"struct … *\", p) does");
    if (strstr(type->name, "(*)("))
        compile_fail(compiler, position, "a '%s' leads to code; its address is up.u64(p)", type->name);
    compile_fail(compiler, position, "what a '%s' leads to is not defined: give its definition to ffi.cdef",
                 type->name);
}

struct ctype_field ctype_field(struct compiler *compiler, const struct position *position, const struct ctype *type,
                               const char *name)
{
    struct error err = { 0 };
    struct ctype_field field = { 0 };
    int handle = source_of(compiler)->field(compiler->environment.context, type->handle, name, &field, &err);
    if (!handle && *err.text)
        compile_fail(compiler, position, "the field '%s' of '%s' cannot be read in a handler: %s", name, type->name,
                     err.text);
    if (!handle)
        compile_fail(compiler, position, "'%s' has no field '%s'", type->name, name);
    field.type = ctype_of(compiler, handle);
    return field;
}
