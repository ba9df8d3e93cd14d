/* The one error exit of a compilation, and the causes of losses that it counts. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compile/context/compiler.h"

void compile_exhausted(struct compiler *compiler)
{
    error_set(compiler->error, -ENOMEM, "out of memory");
    longjmp(compiler->failure, 1);
}

_Noreturn void compile_fail(struct compiler *compiler, const struct position *position, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (position)
        error_set(compiler->error, -EINVAL, "%s:%d: %s", position->file, position->line, text);
    else
        error_set(compiler->error, -EINVAL, "%s", text);
    for (position = position ? position->caller : NULL; position; position = position->caller) {
        size_t used = strlen(compiler->error->text);
        snprintf(compiler->error->text + used, sizeof compiler->error->text - used, "\n  called at %s:%d",
                 position->file, position->line);
    }
    longjmp(compiler->failure, 1);
}

unsigned ledger_add(struct compiler *compiler, const char *cause)
{
    for (size_t i = 0; i < compiler->ledger_count; i++)
        if (!strcmp(compiler->ledger[i].cause, cause))
            return (unsigned)i;
    compiler->ledger = arena_grow(&compiler->arena, compiler->ledger, compiler->ledger_count, sizeof *compiler->ledger);
    compiler->ledger[compiler->ledger_count].cause = cause;
    return (unsigned)compiler->ledger_count++;
}

void compile_expect(struct compiler *compiler, const struct position *position, int status)
{
    if (status == -ENOMEM)
        compile_exhausted(compiler);
    if (status)
        compile_fail(compiler, position,
                     "cannot make the BPF object: %s: this is a bug of uplua: please report it with the script",
                     status == -EINVAL ? "the name of one of its parts is taken or not valid" : error_reason(status));
}
