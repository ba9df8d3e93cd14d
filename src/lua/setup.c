/* setup: compiles and loads the handlers of a setup. One compiler per run keeps what earlier setups have loaded. */
#include <lauxlib.h>

#include "compile/compile.h"
#include "compile/lower/func_names.h"
#include "compile/object/library.h"
#include "lua/compile_options.h"
#include "lua/core.h"
#include "lua/cost.h"
#include "lua/explain.h"
#include "lua/handler.h"
#include "lua/host.h"
#include "lua/link.h"
#include "lua/loaded.h"
#include "lua/shared_objects.h"
#include "probe/attach/cost.h"
#include "sys/feature.h"

#define COMPILER "uplua.compiler"

struct lua_compiler {
    struct lua_host host;
    struct compiler *compiler;
};

static struct lua_compiler *check_compiler(lua_State *L)
{
    return luaL_checkudata(L, 1, COMPILER);
}

/* setup.new() → compiler */
static int setup_new(lua_State *L)
{
    struct lua_compiler *self = core_new_object(L, sizeof *self, COMPILER); /* self */
    struct host host = host_open(&self->host, L);
    self->compiler = compiler_new(host);
    self->host.compiler = self->compiler;
    return self->compiler ? 1 : luaL_error(L, "out of memory");
}

static int compiler_gc(lua_State *L)
{
    struct lua_compiler *self = check_compiler(L);
    compiler_free(self->compiler);
    self->compiler = NULL;
    host_close(&self->host);
    return 0;
}

/* Frees the compilation, and what has been decoded for it. */
static void end_compilation(struct lua_compiler *self)
{
    compiler_end(self->compiler);
    host_forget(&self->host);
}

/* Ends the compilation and raises what was wrong. */
static int raise_failure(lua_State *L, struct lua_compiler *self, const struct error *err)
{
    end_compilation(self);
    return core_raise(L, err);
}

/* compiler:begin(): what add_object and given tell, and load or compile ends, is of one compilation */
static int compiler_begin_lua(lua_State *L)
{
    struct lua_compiler *self = check_compiler(L);
    end_compilation(self);
    compiler_begin(self->compiler, core_no_memory, L);
    return 0;
}

/* compiler:add_object(kind, max, buckets, key, value, paced, ordered, alone, advice, exported): lua/shared_objects.h */
static int compiler_add_lua(lua_State *L)
{
    shared_objects_add(L, check_compiler(L)->compiler);
    return 0;
}

/* compiler:given(object, key, value, file, line): lua/shared_objects.h */
static int compiler_given_lua(lua_State *L)
{
    shared_objects_given(L, check_compiler(L)->compiler);
    return 0;
}

/*
 * Compiles the handlers of the description at index 2 into the object of RESULT, which is on the top; raises the reason
 * where that fails.
 */
static struct handler *compile_handlers(lua_State *L, struct lua_compiler *self, struct lua_loaded *result,
                                        size_t *count)
{
    int top = lua_gettop(L);
    struct error err = {0};
    const struct ledger_entry *ledger;
    size_t ledger_count;
    luaL_checktype(L, 2, LUA_TTABLE);
    struct compile_options options = compile_options_read(L, &self->host);
    lua_getfield(L, 2, "handlers");
    struct handler *handlers = handlers_read(L, lua_gettop(L), compiler_arena(self->compiler), count);
    if (compiler_compile(self->compiler, handlers, *count, &options, &result->object, &ledger, &ledger_count, &err))
        raise_failure(L, self, &err);
    lua_settop(L, top);
    lua_createtable(L, (int)ledger_count, 0); /* … loaded causes */
    for (size_t i = 0; i < ledger_count; i++)
        core_set_string_at(L, (int)i, ledger[i].cause);
    lua_setfenv(L, -2); /* … loaded */
    return handlers;
}

/* The library's maps of an earlier setup, { [name] = fd }, that OBJECT is to use. */
static int reuse_maps(lua_State *L, int index, struct object *object)
{
    int rc = 0;
    lua_getfield(L, index, "reuse"); /* maps */
    luaL_checktype(L, -1, LUA_TTABLE);
    for (lua_pushnil(L); !rc && lua_next(L, -2); lua_pop(L, 1)) /* maps name fd */
        rc = object_reuse_map(object, luaL_checkstring(L, -2), (int)luaL_checkinteger(L, -1));
    return rc;
}

/*
 * compiler:load{ handlers = { { kind, probe, symbol, names, at_entry, slid, handle }, … }, pids = {…}, …
 * (lua/compile_options.h), returns = boolean, explained = boolean, reuse = { [map] = fd } } → loaded, handlers,
 * objects, link (of what measures the probes' cost, if anything does; core.cost), why that could not be measured (or
 * nil)
 */
static int compiler_load(lua_State *L)
{
    struct lua_compiler *self = check_compiler(L);
    struct lua_loaded *result = lua_loaded_new(L); /* … loaded, owned before anything can fail */
    struct error err = {0}, unknown = {0};
    size_t count, words = 0;
    struct handler *handlers = compile_handlers(L, self, result, &count);
    int status = reuse_maps(L, 2, result->object);
    if (status || (status = object_merge(result->object, "uplua_ustack")))
        return luaL_error(L, "cannot make the BPF object: %s", error_reason(status));
    lua_settop(L, 3);
    struct probe_link **link = link_push(L); /* … loaded link */
    struct cost_run *costs = cost_begin_for(handlers, count);
    int code = object_load(result->object, bpf_library, bpf_library_size, &result->loaded, &err);
    cost_finish(costs, link, &unknown);
    if (code)
        return raise_failure(L, self, &err);
    cost_write(loaded_counters(result->loaded, COST_COUNTERS, &words));
    for (size_t i = 0; i < count; i++)
        if (func_names_fill(&handlers[i], result->loaded))
            return luaL_error(L, "cannot write the names of the functions of %s", handlers[i].probe);
    lua_loaded_push_handlers(L, result, handlers, count);
    object_free(result->object);
    result->object = NULL;
    shared_objects_push(L, self->compiler, result->loaded);
    if (compiler_keep(self->compiler, &err))
        return raise_failure(L, self, &err);
    end_compilation(self);
    lua_pushvalue(L, 4);
    lua_remove(L, 4); /* … loaded handlers objects link */
    lua_pushstring(L, *unknown.text ? unknown.text : NULL);
    return 5;
}

/* compiler:compile(description, path): loads nothing, writes the object to PATH unless that is nil; → its contents
 * (lua/explain.h) */
static int compile_only(lua_State *L)
{
    struct lua_compiler *self = check_compiler(L);
    const char *path = luaL_optstring(L, 3, NULL);
    struct lua_loaded *result = lua_loaded_new(L);
    struct error err = {0};
    size_t count;
    struct handler *handlers = compile_handlers(L, self, result, &count);
    if (path && object_save(result->object, bpf_library, bpf_library_size, path, &err))
        return raise_failure(L, self, &err);
    explain_push(L, result->object, handlers, count);
    end_compilation(self);
    return 1;
}

/* setup.features() → { { name, available }, … }: what handlers are compiled for */
static int setup_features(lua_State *L)
{
    lua_createtable(L, FEATURES_OF_CODE, 0); /* list */
    for (int i = 0; i < FEATURES_OF_CODE; i++) {
        lua_createtable(L, 2, 0); /* list feature */
        core_set_string_at(L, 1, feature_name((enum feature)i));
        lua_pushboolean(L, feature_available((enum feature)i));
        lua_rawseti(L, -2, 2);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* setup.kinds() → { "uprobe", … }: the kinds of probes */
static int setup_kinds(lua_State *L)
{
    const struct provider *provider;
    lua_newtable(L); /* list */
    for (size_t i = 0; (provider = provider_at(i)); i++)
        core_set_string_at(L, (int)i + 1, provider->name);
    return 1;
}

int setup_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"new", setup_new}, {"features", setup_features}, {"kinds", setup_kinds}, {NULL, NULL}};
    static const luaL_Reg methods[] = {
        {"begin", compiler_begin_lua}, {"add_object", compiler_add_lua}, {"given", compiler_given_lua},
        {"load", compiler_load},       {"compile", compile_only},        {NULL, NULL},
    };
    core_new_class(L, COMPILER, methods, compiler_gc);
    lua_loaded_open(L);
    return core_functions(L, functions);
}
