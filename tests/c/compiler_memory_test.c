/*
 * The compiler's memory: a compilation leaves nothing behind but what shared objects hold, however often the same is
 * compiled; and whichever allocation fails, the compiler says so and leaves nothing behind.
 */
#include "compile/object/library.h"
#include "failing_malloc.h"
#include "handlers.h"
#include "tap.h"

enum { COUNT = sizeof handlers / sizeof *handlers, MANY = 10000 };

static struct bytecode *decoded[COUNT];

static int compile(struct compiler *compiler, const char *kind, struct object **object, struct error *err)
{
    static const pid_t pids[] = {23, 101};
    struct handler handler = {
        .provider = provider_find(kind), .function = 0, .probe = "a:b", .symbol = "b", .at_entry = true};
    struct compile_options options = {.pids = pids, .pid_count = 2, .returns = unknown_returns};
    const struct ledger_entry *ledger;
    size_t ledger_count;
    *err = (struct error){0};
    return compiler_compile(compiler, &handler, 1, &options, object, &ledger, &ledger_count, err);
}

/* As the caller of a compiler does with what it has loaded: objects that are used get descriptors. */
static int keep(struct compiler *compiler, struct error *err)
{
    for (size_t i = 0; i < compiler_object_count(compiler); i++) {
        struct shared *object = compiler_object(compiler, i);
        if (object->used && object->fd < 0)
            object->fd = object->spill_fd = 1000 + (int)i;
    }
    return compiler_keep(compiler, err);
}

/* Compiles handler I as what KIND is, in a compilation of its own, and keeps what LOADS. */
static bool compile_once(struct compiler *compiler, struct source *source, size_t i, bool loads, struct error *err)
{
    struct object *object = NULL;
    compiler_begin(compiler, no_memory, NULL);
    source->bytecode = decoded[i];
    bool good = !compile(compiler, i % 2 ? "uretprobe" : "uprobe", &object, err) && !(loads && keep(compiler, err));
    object_free(object);
    compiler_end(compiler);
    return good;
}

/* Those whose use of a shared object agrees with what it holds for those before; a ring gets a further kind of records
 * with each compilation that emits. */
static bool can_be_loaded(struct compiler *compiler, struct source *source, size_t i)
{
    struct error err;
    return !strstr(handlers[i], "printf") && !strstr(handlers[i], "emit") &&
           compile_once(compiler, source, i, true, &err);
}

static void stays(bool loads)
{
    struct source source = {0};
    struct compiler *compiler = new_compiler(&source);
    struct error err;
    bool good[COUNT];
    size_t failed = 0, tried = 0;
    long blocks = 0, bytes = 0;
    for (size_t i = 0; i < COUNT; i++)
        tried += good[i] = loads ? can_be_loaded(compiler, &source, i) : true;
    for (size_t round = 0; round < MANY; round++) {
        if (round == 100) {
            blocks = live;
            bytes = live_bytes;
        }
        size_t i = round % COUNT;
        if (good[i] && !compile_once(compiler, &source, i, loads, &err) && failed++ < 5)
            fprintf(stderr, "# handler %zu: %s\n", i, err.text);
    }
    const char *what = loads ? "loaded" : "not loaded";
    is_int((int64_t)failed, 0, "%d compilations of %zu handlers that are %s succeed", MANY, tried, what);
    is_int(live, counts_live ? blocks : live, "… and leave as many blocks behind as 100");
    is_int(live_bytes, counts_live ? bytes : live_bytes, "… of as many bytes");
    compiler_free(compiler);
}

/* Handler I from a new compiler to linked bytes; the message, "" if all went well, NULL if it failed without one. */
static const char *whole(size_t i)
{
    static struct error err;
    struct source source = {0};
    struct object *object = NULL;
    size_t size = 0;
    void *bytes = NULL;
    struct compiler *compiler = new_compiler(&source);
    if (!compiler)
        return "out of memory";
    source.bytecode = decoded[i];
    int code = compile(compiler, "uretprobe", &object, &err);
    if (!code)
        code = keep(compiler, &err);
    compiler_end(compiler);
    if (!code)
        code = object_merge(object, "uplua_ustack") ? error_set(&err, -ENOMEM, "out of memory") : 0;
    if (!code)
        code = object_link(object, bpf_library, bpf_library_size, &bytes, &size, &err);
    free(bytes);
    object_free(object);
    compiler_free(compiler);
    return !code ? "" : *err.text ? err.text : NULL;
}

static void fails_well(size_t i, bool on)
{
    size_t n = 0, other = 0, leaks = 0, succeeded = 0;
    const char *message = NULL;
    do {
        long before = live;
        allocations_fail(++n, on);
        message = whole(i);
        bool reached = allocations >= n;
        allocations_fail(0, false);
        leaks += counts_live && live != before;
        succeeded += reached && message && !*message;
        if (!message || (*message && !strstr(message, "out of memory"))) {
            if (other++ < 3)
                fprintf(stderr, "# allocation %zu: \"%s\"\n", n, message ? message : "(none)");
        }
        if (!reached)
            break;
    } while (n < 100000);
    if (!ok(!other && !leaks && n > 10, "%s %zu of handler %zu: out of memory is an error that leaves nothing",
            on ? "no allocation from" : "no allocation", n, i))
        fprintf(stderr, "# %zu other results, %zu leaks; %zu went well\n", other, leaks, succeeded);
}

int main(void)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    struct error err = {0};
    size_t size;
    unsigned char *bytes = dump(L, helper, &size);
    ok(!bytecode_decode(bytes, size, &helper_code, &err), "the helper is decoded");
    free(bytes);
    for (size_t i = 0; i < COUNT; i++) {
        bytes = dump(L, handlers[i], &size);
        if (bytecode_decode(bytes, size, &decoded[i], &err))
            ok(false, "handler %zu is decoded: %s", i, err.text);
        free(bytes);
    }
    lua_close(L);
    stays(false);
    stays(true);
    for (size_t i = 0; i < COUNT; i++) {
        whole(i); /* what libraries keep once and for all */
        fails_well(i, false);
        fails_well(i, true);
    }
    for (size_t i = 0; i < COUNT; i++)
        bytecode_free(decoded[i]);
    bytecode_free(helper_code);
    return done_testing();
}
