/* C types, asked of lua/uplua/ctype.lua for the compiler. */
#include "lua/ctype.h"

#include <errno.h>
#include <lauxlib.h>
#include <string.h>

#include "lua/host.h"

/* Pushes the function NAME of uplua.compile.ctype, which is loaded by the first handler that has a use for it. */
static lua_State *push_function(struct lua_host *host, const char *name)
{
    lua_State *L = host->L;
    luaL_checkstack(L, 16, "C types");
    lua_getglobal(L, "require");
    lua_pushliteral(L, "uplua.compile.ctype");
    lua_call(L, 1, 1); /* ctype */
    lua_getfield(L, -1, name);
    lua_remove(L, -2);
    return L;
}

/* Calls the function pushed with its COUNT arguments for RESULTS results; an error is as good as nil and a message. */
static void call(lua_State *L, int count, int results)
{
    if (!lua_pcall(L, count, results, 0))
        return;
    lua_pushnil(L);
    lua_insert(L, -2); /* nil message */
    lua_settop(L, lua_gettop(L) + results - 2);
}

/* The handle among RESULTS results on the stack, which are popped; 0 and the message behind it if that is nil. */
static int take_handle(lua_State *L, int results, struct error *err)
{
    int handle = (int)lua_tointeger(L, -results);
    const char *message = lua_type(L, 1 - results) == LUA_TSTRING ? lua_tostring(L, 1 - results) : NULL;
    if (!handle && message)
        error_set(err, -EINVAL, "%s", message);
    lua_pop(L, results);
    return handle;
}

static int parse(void *context, const char *declaration, struct error *err)
{
    lua_State *L = push_function(context, "parse");
    lua_pushstring(L, declaration);
    call(L, 1, 2); /* handle message */
    return take_handle(L, 2, err);
}

static void describe(void *context, int handle, struct ctype *result)
{
    static const char *const kinds[] = {
        [CTYPE_OTHER] = "other",     [CTYPE_INTEGER] = "integer", [CTYPE_BOOLEAN] = "boolean",
        [CTYPE_POINTER] = "pointer", [CTYPE_ARRAY] = "array",     [CTYPE_STRUCT] = "struct",
    };
    struct lua_host *host = context;
    lua_State *L = push_function(host, "describe");
    lua_pushinteger(L, handle);
    call(L, 1, 5); /* kind name size bits count */
    const char *kind = lua_tostring(L, -5), *name = lua_tostring(L, -4);
    result->kind = CTYPE_STRUCT;
    while (result->kind > CTYPE_OTHER && strcmp(kinds[result->kind], kind ? kind : ""))
        result->kind--;
    name = name ? name : "?";
    result->name = arena_string(compiler_arena(host->compiler), name, strlen(name));
    result->size = (uint64_t)lua_tonumber(L, -3);
    result->bits = (int)lua_tointeger(L, -2);
    result->count = (uint64_t)lua_tonumber(L, -1);
    lua_pop(L, 5);
}

static int element(void *context, int handle, struct error *err)
{
    lua_State *L = push_function(context, "element");
    lua_pushinteger(L, handle);
    call(L, 1, 2); /* handle message */
    return take_handle(L, 2, err);
}

static int field(void *context, int handle, const char *name, struct ctype_field *result, struct error *err)
{
    lua_State *L = push_function(context, "field");
    lua_pushinteger(L, handle);
    lua_pushstring(L, name);
    call(L, 2, 4); /* handle offset first_bit bits */
    result->offset = lua_type(L, -3) == LUA_TNUMBER ? (uint64_t)lua_tonumber(L, -3) : 0;
    result->first_bit = (int)lua_tointeger(L, -2);
    result->bits = (int)lua_tointeger(L, -1);
    return take_handle(L, 4, err);
}

const struct ctype_source ctype_source_lua = {parse, describe, element, field};
