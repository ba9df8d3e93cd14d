/*
 * The compiler without Lua around it: handlers of all kinds compile to an object that links; whatever is changed in
 * their bytecode, the compiler ends with an object or with a message, never otherwise. Limit: 480 s: it computes all
 * the time, beside whatever else wants the CPUs.
 */
#include "compile/object/library.h"
#include "handlers.h"
#include "tap.h"

/* 0 if BYTECODE compiled and linked, 1 if it was refused with a message, -1 if something was wrong with that. */
static int try_compile(struct bytecode *bytecode, const char *kind, struct error *err)
{
    struct source source = {bytecode};
    struct compiler *compiler = new_compiler(&source);
    struct handler handler = {
        .provider = provider_find(kind), .function = 0, .probe = "a:b", .symbol = "b", .at_entry = true};
    pid_t pids[] = {23, 101};
    struct compile_options options = {.pids = pids, .pid_count = 2, .returns = unknown_returns};
    struct object *object = NULL;
    const struct ledger_entry *ledger;
    size_t ledger_count, size = 0;
    void *bytes = NULL;
    int result = 1;
    *err = (struct error){0};
    if (!compiler_compile(compiler, &handler, 1, &options, &object, &ledger, &ledger_count, err))
        result = object_link(object, bpf_library, bpf_library_size, &bytes, &size, err) ? -1 : 0;
    else if (!*err->text || err->code >= 0)
        result = -1;
    free(bytes);
    object_free(object);
    compiler_free(compiler);
    return result;
}

static void mutate(const unsigned char *original, size_t size, unsigned seed)
{
    size_t compiled = 0, refused = 0, undecodable = 0, wrong = 0;
    unsigned char *copy = malloc(size);
    unsigned random = seed * 2654435761u + 1;
    for (int round = 0; copy && round < 300; round++) {
        memcpy(copy, original, size);
        for (unsigned change = 0; change <= random % 3; change++) {
            random = random * 1103515245u + 12345;
            copy[(random >> 8) % size] = (unsigned char)(random >> 20);
        }
        struct bytecode *bytecode = NULL;
        struct error err = {0};
        if (bytecode_decode(copy, size, &bytecode, &err)) {
            undecodable++;
            continue;
        }
        int result = try_compile(bytecode, round % 2 ? "uretprobe" : "uprobe", &err);
        compiled += result == 0;
        refused += result == 1;
        if (result < 0) {
            wrong++;
            fprintf(stderr, "# seed %u, round %d: %s\n", seed, round, err.text);
        }
        bytecode_free(bytecode);
    }
    ok(wrong == 0, "changed bytecode of handler %u: %zu compiled, %zu refused, %zu not decoded", seed, compiled,
       refused, undecodable);
    free(copy);
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
    for (unsigned i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        struct bytecode *bytecode = NULL;
        bytes = dump(L, handlers[i], &size);
        if (!ok(!bytecode_decode(bytes, size, &bytecode, &err), "handler %u is decoded", i))
            continue;
        int status = try_compile(bytecode, "uretprobe", &err);
        if (!ok(status == 0, "… and compiles: %.60s", handlers[i]))
            fprintf(stderr, "# %s\n", err.text);
        bytecode_free(bytecode);
        mutate(bytes, size, i);
        free(bytes);
    }
    bytecode_free(helper_code);
    lua_close(L);
    return done_testing();
}
