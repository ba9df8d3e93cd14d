/* The order of the passes. */
#include "compile/compile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile/context/compiler.h"
#include "compile/context/keep.h"
#include "compile/front/build.h"
#include "compile/infer/infer.h"
#include "compile/lower/lower.h"
#include "compile/object/cancel.h"
#include "compile/optimise/optimise.h"

static __attribute__((noreturn)) void exhausted(void *context)
{
    compile_exhausted(context);
}

struct compiler *compiler_new(struct host host)
{
    struct compiler *compiler = calloc(1, sizeof *compiler);
    if (!compiler)
        return NULL;
    compiler->host = host;
    compiler->kept.exhausted = exhausted;
    compiler->kept.context = compiler;
    return compiler;
}

void compiler_free(struct compiler *compiler)
{
    if (!compiler)
        return;
    compiler_end(compiler);
    arena_free(&compiler->kept);
    free(compiler);
}

struct arena *compiler_begin(struct compiler *compiler, void (*no_memory)(void *context) __attribute__((noreturn)),
                             void *context)
{
    compiler_end(compiler);
    compiler->arena.exhausted = no_memory;
    compiler->arena.context = context;
    return &compiler->arena;
}

void compiler_end(struct compiler *compiler)
{
    object_free(compiler->result);
    compiler->result = NULL;
    for (size_t i = 0; i < compiler->object_count; i++)
        *compiler->objects[i] = *compiler->before[i];
    arena_free(&compiler->arena);
}

struct shared *compiler_add_object(struct compiler *compiler, const struct shared *given)
{
    struct error err;
    compiler->error = &err;
    if (setjmp(compiler->failure))
        return NULL;
    size_t count = compiler->object_count;
    compiler->objects = arena_grow(&compiler->kept, compiler->objects, count, sizeof *compiler->objects);
    compiler->before = arena_grow(&compiler->kept, compiler->before, count, sizeof *compiler->before);
    struct shared *object = arena_allocate(&compiler->kept, 2 * sizeof *object);
    *object = (struct shared){.kind = given->kind,
                              .max = given->max,
                              .advice = arena_string(&compiler->kept, given->advice, strlen(given->advice)),
                              .exported = given->exported,
                              .paced = given->paced,
                              .ordered = given->ordered,
                              .alone = given->alone,
                              .buckets = given->buckets,
                              .fd = -1,
                              .spill_fd = -1,
                              .overflow_fd = -1,
                              .turn = -1,
                              .declared_key = keep_type(compiler, given->declared_key),
                              .declared_value = keep_type(compiler, given->declared_value)};
    object[1] = object[0];
    compiler->objects[count] = object;
    compiler->before[count] = object + 1;
    compiler->object_count++;
    return object;
}

struct shared *compiler_object(struct compiler *compiler, size_t number)
{
    return number < compiler->object_count ? compiler->objects[number] : NULL;
}

size_t compiler_object_count(const struct compiler *compiler)
{
    return compiler->object_count;
}

struct arena *compiler_arena(struct compiler *compiler)
{
    return &compiler->arena;
}

static void stop_if_asked(struct compiler *compiler)
{
    if (cancel_check(compiler->error))
        longjmp(compiler->failure, 1);
}

static void add_counters(struct compiler *compiler, const char *name, size_t count)
{
    if (count)
        compile_expect(compiler, NULL, object_add_counters(compiler->result, name, count));
}

static void compile(struct compiler *compiler, struct handler *handlers, size_t count,
                    const struct compile_options *options)
{
    struct function *functions = arena_allocate(&compiler->arena, (count + 1) * sizeof *functions);
    for (size_t i = 0; i < compiler->object_count; i++)
        compiler->objects[i]->used = false;
    filter_use(compiler, options);
    compiler->exits = false;
    compiler->calls = NULL;
    compiler->calls_count = 0;
    compiler->net = compiler->sums = false;
    compiler->walks = NULL;
    for (size_t i = 0; i < count; i++) {
        stop_if_asked(compiler);
        functions[i] = (struct function){.compiler = compiler,
                                         .arena = &compiler->arena,
                                         .handler = &handlers[i],
                                         .options = options,
                                         .handler_number = i};
        pass_build(&functions[i]);
#ifdef UPLUA_CHECK
        ir_check(&functions[i]);
#endif
    }
    if (count)
        pass_infer(functions, count);
    maps_describe(compiler);
    for (size_t i = 0; i < count; i++) {
        stop_if_asked(compiler);
        pass_check(&functions[i]);
        output_check(&functions[i]);
        pass_optimise(&functions[i]);
        pass_combine_loads(&functions[i]);
#ifdef UPLUA_CHECK
        ir_check(&functions[i]);
#endif
        if (getenv("UPLUA_PRINT_IR"))
            ir_print(&functions[i]);
        pass_lower(&functions[i], compiler->result);
    }
    calls_end_threads(compiler, options);
    executed_note(compiler, options);
    compile_expect(compiler, NULL, maps_declare(compiler, compiler->result));
    compile_expect(compiler, NULL, state_declare(options, count, compiler->result));
    compile_expect(compiler, NULL, scratch_declare(compiler, compiler->result));
    compile_expect(compiler, NULL, elapsed_declare(compiler, compiler->result));
    add_counters(compiler, LEDGER_COUNTERS, compiler->ledger_count);
    add_counters(compiler, EXITED_COUNTERS, compiler->exits);
    add_counters(compiler, TURN_COUNTERS, compiler->turns);
    add_counters(compiler, COST_COUNTERS, compiler->net ? COST_PARTS * COST_ENTRIES : 0);
    add_counters(compiler, ZERO_COUNTERS, ZERO_WORDS);
}

int compiler_compile(struct compiler *compiler, struct handler *handlers, size_t count,
                     const struct compile_options *options, struct object **result, const struct ledger_entry **ledger,
                     size_t *ledger_count, struct error *err)
{
    struct arena caller = compiler->arena;
    compiler->error = err;
    compiler->ledger = NULL;
    compiler->ledger_count = 0;
    compiler->scratch_size = 0;
    compiler->result = object_new();
    if (!compiler->result)
        return error_set(err, -ENOMEM, "out of memory");
    compiler->arena.exhausted = exhausted;
    compiler->arena.context = compiler;
    if (setjmp(compiler->failure)) {
        compiler_end(compiler);
        return err->code;
    }
    compile(compiler, handlers, count, options);
    compiler->arena.exhausted = caller.exhausted;
    compiler->arena.context = caller.context;
    *result = compiler->result;
    compiler->result = NULL;
    *ledger = compiler->ledger;
    *ledger_count = compiler->ledger_count;
    return 0;
}

int compiler_keep(struct compiler *compiler, struct error *err)
{
    struct shared *kept = calloc(compiler->object_count + 1, sizeof *kept);
    if (!kept)
        return error_set(err, -ENOMEM, "out of memory");
    compiler->error = err;
    if (setjmp(compiler->failure)) {
        free(kept);
        return err->code;
    }
    /* All of them, or none. */
    for (size_t i = 0; i < compiler->object_count; i++)
        kept[i] = compiler->objects[i]->fd < 0 ? *compiler->before[i]
                                               : keep_object(compiler, compiler->objects[i], compiler->before[i]);
    for (size_t i = 0; i < compiler->object_count; i++)
        *compiler->before[i] = kept[i];
    free(kept);
    return 0;
}
