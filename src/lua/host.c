/* What handlers capture, fetched from a Lua state for the compiler. */
#include "lua/host.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/ctype.h"

/* Pushes the function NAME of uplua.compile.capture. */
static lua_State *push_function(struct lua_host *host, const char *name)
{
    lua_State *L = host->L;
    luaL_checkstack(L, 16, "capturing");
    lua_rawgeti(L, LUA_REGISTRYINDEX, host->capture);
    lua_getfield(L, -1, name);
    lua_remove(L, -2);
    return L;
}

static void copy_string(struct lua_host *host, int index, struct captured *captured)
{
    size_t length = 0;
    const char *bytes = lua_tolstring(host->L, index, &length);
    captured->string.bytes = arena_string(compiler_arena(host->compiler), bytes ? bytes : "", length);
    captured->string.length = length;
}

/* Calls the function pushed with its COUNT arguments; it returns a kind and a payload. */
static struct captured call(struct lua_host *host, int count)
{
    static const char *const kinds[] = {
        [CAPTURED_NIL] = "nil",           [CAPTURED_BOOLEAN] = "boolean", [CAPTURED_NUMBER] = "number",
        [CAPTURED_I64] = "i64",           [CAPTURED_U64] = "u64",         [CAPTURED_STRING] = "string",
        [CAPTURED_FUNCTION] = "function", [CAPTURED_TABLE] = "table",     [CAPTURED_OBJECT] = "object",
        [CAPTURED_CTYPE] = "ctype",       [CAPTURED_BUILTIN] = "builtin", [CAPTURED_OTHER] = "other",
    };
    lua_State *L = host->L;
    struct captured captured = {.kind = CAPTURED_OTHER};
    int status = lua_pcall(L, count, 2, 0);
    if (status) { /* message */
        copy_string(host, -1, &captured);
        lua_pop(L, 1);
        return captured;
    }
    const char *kind = lua_tostring(L, -2); /* kind payload */
    while (captured.kind > 0 && strcmp(kinds[captured.kind], kind ? kind : "nil"))
        captured.kind--;
    switch (captured.kind) {
    case CAPTURED_NIL:
        break;
    case CAPTURED_BOOLEAN:
        captured.boolean = lua_toboolean(L, -1);
        break;
    case CAPTURED_NUMBER:
        captured.number = lua_tonumber(L, -1);
        break;
    case CAPTURED_I64:
    case CAPTURED_U64: /* eight bytes */
        if (lua_objlen(L, -1) == sizeof captured.u64)
            memcpy(&captured.u64, lua_tostring(L, -1), sizeof captured.u64);
        break;
    case CAPTURED_FUNCTION ... CAPTURED_CTYPE:
        captured.handle = (int)lua_tointeger(L, -1);
        break;
    case CAPTURED_STRING:
    case CAPTURED_BUILTIN:
    case CAPTURED_OTHER:
        copy_string(host, -1, &captured);
        break;
    }
    lua_pop(L, 2);
    return captured;
}

static struct captured upvalue(void *context, int function, unsigned index)
{
    lua_State *L = push_function(context, "upvalue");
    lua_pushinteger(L, function);
    lua_pushinteger(L, index);
    return call(context, 2);
}

static struct captured global(void *context, int function, const char *name, size_t length)
{
    lua_State *L = push_function(context, "global");
    lua_pushinteger(L, function);
    lua_pushlstring(L, name, length);
    return call(context, 2);
}

static struct captured field(void *context, int table, const struct captured *key)
{
    lua_State *L = push_function(context, "field");
    lua_pushinteger(L, table);
    if (key->kind == CAPTURED_STRING)
        lua_pushlstring(L, key->string.bytes, key->string.length);
    else if (key->kind == CAPTURED_NUMBER)
        lua_pushnumber(L, key->number);
    else if (key->kind == CAPTURED_BOOLEAN)
        lua_pushboolean(L, key->boolean);
    else
        lua_pushnil(L);
    return call(context, 2);
}

static const struct bytecode *bytecode(void *context, int function, struct error *err)
{
    struct lua_host *host = context;
    if ((size_t)function < host->decoded_count && host->decoded[function])
        return host->decoded[function];
    if ((size_t)function >= host->decoded_count) {
        size_t count = (size_t)function + 64;
        struct bytecode **larger = realloc(host->decoded, count * sizeof *larger);
        if (!larger) {
            error_set(err, -ENOMEM, "out of memory");
            return NULL;
        }
        memset(larger + host->decoded_count, 0, (count - host->decoded_count) * sizeof *larger);
        host->decoded = larger;
        host->decoded_count = count;
    }
    lua_State *L = push_function(host, "dump");
    lua_pushinteger(L, function);
    if (lua_pcall(L, 1, 1, 0) || lua_type(L, -1) != LUA_TSTRING) {
        error_set(err, -EINVAL, "%s", lua_tostring(L, -1) ? lua_tostring(L, -1) : "the function cannot be dumped");
    } else {
        size_t size;
        const char *dump = lua_tolstring(L, -1, &size);
        bytecode_decode(dump, size, &host->decoded[function], err);
    }
    lua_pop(L, 1);
    return host->decoded[function];
}

static void used(void *context, const char *name, const char *file, int line)
{
    lua_State *L = push_function(context, "used");
    lua_pushstring(L, name);
    lua_pushfstring(L, "%s:%d", file, line);
    if (lua_pcall(L, 2, 0, 0)) /* out of memory: nobody is told, then */
        lua_pop(L, 1);
}

const char *host_source_line(void *context, const char *file, int line)
{
    struct lua_host *host = context;
    lua_State *L = push_function(host, "source_line");
    lua_pushstring(L, file);
    lua_pushinteger(L, line);
    const char *text = "";
    if (!lua_pcall(L, 2, 1, 0) && lua_type(L, -1) == LUA_TSTRING)
        text = arena_string(compiler_arena(host->compiler), lua_tostring(L, -1), lua_objlen(L, -1));
    lua_pop(L, 1);
    return text;
}

struct host host_open(struct lua_host *host, lua_State *L)
{
    host->L = L;
    host->capture = LUA_NOREF;
    lua_getglobal(L, "require");
    lua_pushliteral(L, "uplua.compile.capture");
    lua_call(L, 1, 1);
    host->capture = luaL_ref(L, LUA_REGISTRYINDEX);
    return (struct host){host, upvalue, global, field, bytecode, used, &ctype_source_lua};
}

void host_forget(struct lua_host *host)
{
    for (size_t i = 0; i < host->decoded_count; i++)
        bytecode_free(host->decoded[i]);
    free(host->decoded);
    host->decoded = NULL;
    host->decoded_count = 0;
}

void host_close(struct lua_host *host)
{
    host_forget(host);
    luaL_unref(host->L, LUA_REGISTRYINDEX, host->capture);
    host->capture = LUA_NOREF;
}
