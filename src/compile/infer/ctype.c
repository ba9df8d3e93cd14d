/* C types for handlers, whichever source knows them. */
#include "compile/infer/ctype.h"

#include <string.h>

#include "compile/context/compiler.h"
#include "compile/infer/ctype_btf.h"
#include "compile/infer/ctype_dwarf.h"

/* Who knows the type of HANDLE, and in *CONTEXT what its functions take. */
static const struct ctype_source *source_of(struct compiler *compiler, int handle, void **context)
{
    bool is_script = handle < DEBUG_CTYPES;
    *context = is_script ? compiler->host.context : compiler;
    return is_script ? compiler->host.ctypes : handle >= KERNEL_CTYPES ? &kernel_ctypes : &debug_ctypes;
}

const struct ctype *ctype_of(struct compiler *compiler, int handle)
{
    for (size_t i = 0; i < compiler->ctype_count; i++)
        if (compiler->ctypes[i]->handle == handle)
            return compiler->ctypes[i];
    compiler->ctypes = arena_grow(&compiler->kept, compiler->ctypes, compiler->ctype_count, sizeof *compiler->ctypes);
    struct ctype *type = arena_allocate(&compiler->kept, sizeof *type);
    void *context;
    source_of(compiler, handle, &context)->describe(context, handle, type);
    type->handle = handle;
    type->name = arena_string(&compiler->kept, type->name, strlen(type->name));
    return compiler->ctypes[compiler->ctype_count++] = type;
}

/* Where DECLARATION is no type of the script's, or a pointer to a struct that it does not define: the kernel's. */
static int parse(struct compiler *compiler, const char *declaration, bool kernel, struct error *err)
{
    const struct ctype_source *script = compiler->host.ctypes;
    void *context = compiler->host.context;
    struct error ignored;
    int handle = script->parse(context, declaration, err);
    bool undefined = handle && kernel && strchr(declaration, '*') && !script->element(context, handle, &ignored);
    int other = kernel && (!handle || undefined) ? kernel_ctypes.parse(compiler, declaration, &ignored) : 0;
    return other ? other : handle;
}

const struct ctype *ctype_parse(struct compiler *compiler, const struct position *position, const char *declaration,
                                bool kernel)
{
    struct error err = {0};
    int handle = parse(compiler, declaration, kernel, &err);
    if (!handle)
        compile_fail(compiler, position, "up.cast(\"%s\"): %s", declaration, err.text);
    return ctype_of(compiler, handle);
}

const struct ctype *ctype_find(struct compiler *compiler, const char *declaration)
{
    struct error err = {0};
    int handle = parse(compiler, declaration, false, &err);
    return handle ? ctype_of(compiler, handle) : NULL;
}

const struct ctype *ctype_element(struct compiler *compiler, const struct position *position, const struct ctype *type)
{
    struct error err = {0};
    void *context;
    int handle = source_of(compiler, type->handle, &context)->element(context, type->handle, &err);
    if (handle)
        return ctype_of(compiler, handle);
    if (!strcmp(type->name, "void *") || !strcmp(type->name, "const void *"))
        compile_fail(compiler, position, "a 'void *' does not say what it points to: up.cast(\"struct … *\", p) does");
    if (strstr(type->name, "(*)("))
        compile_fail(compiler, position, "a '%s' points to code; its address is up.u64(p)", type->name);
    compile_fail(compiler, position, "the type that a '%s' points to is not defined%s: give its definition to ffi.cdef",
                 type->name,
                 type->handle >= KERNEL_CTYPES  ? " in the kernel's BTF"
                 : type->handle >= DEBUG_CTYPES ? " in the program's debug information"
                                                : "");
}

struct ctype_field ctype_field(struct compiler *compiler, const struct position *position, const struct ctype *type,
                               const char *name)
{
    struct error err = {0};
    struct ctype_field field = {0};
    void *context;
    int handle = source_of(compiler, type->handle, &context)->field(context, type->handle, name, &field, &err);
    if (!handle && *err.text)
        compile_fail(compiler, position, "the field '%s' of '%s' cannot be read in a handler: %s", name, type->name,
                     err.text);
    if (!handle)
        compile_fail(compiler, position, "'%s' has no field '%s'", type->name, name);
    field.type = ctype_of(compiler, handle);
    return field;
}
