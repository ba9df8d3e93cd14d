/* The table uplua.core: one entry for each object that C registers. */
#include "lua/core.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static const luaL_Reg objects[] = {
    {"arrival", arrival_open_lua}, {"cgroup", cgroup_open_lua}, {"event", event_open_lua},
    {"guest", guest_open_lua},     {"kernel", kernel_open_lua}, {"loop", loop_open_lua},
    {"module", module_open_lua},   {"probe", probe_open_lua},   {"readline", readline_open_lua},
    {"setup", setup_open_lua},     {"cost", cost_open_lua},     {"symbols", symbols_open_lua},
    {"system", system_open_lua},   {"target", target_open_lua}, {"tracepoint", tracepoint_open_lua},
    {"unwind", unwind_open_lua},   {"usdt", usdt_open_lua},     {NULL, NULL},
};

int core_open_lua(lua_State *L)
{
    lua_newtable(L);
    for (const luaL_Reg *object = objects; object->name; object++) {
        object->func(L); /* core object */
        lua_setfield(L, -2, object->name);
    }
    lua_pushliteral(L, UPLUA_VERSION);
    lua_setfield(L, -2, "version");
    return 1;
}

int core_raise(lua_State *L, const struct error *err)
{
    lua_pushstring(L, err->text);
    return lua_error(L);
}

void core_no_memory(void *L)
{
    lua_pushliteral(L, "out of memory");
    lua_error(L);
    __builtin_unreachable();
}

int core_absent(lua_State *L, const struct error *err)
{
    lua_pushnil(L);
    lua_pushstring(L, err->text);
    return 2;
}

int core_functions(lua_State *L, const luaL_Reg *functions)
{
    lua_newtable(L);
    luaL_register(L, NULL, functions);
    return 1;
}

void core_new_class(lua_State *L, const char *name, const luaL_Reg *methods, lua_CFunction gc)
{
    luaL_newmetatable(L, name); /* class */
    lua_newtable(L);            /* class methods */
    luaL_register(L, NULL, methods);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, gc);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
}

void *core_new_object(lua_State *L, size_t size, const char *class)
{
    void *object = memset(lua_newuserdata(L, size), 0, size);
    luaL_getmetatable(L, class);
    lua_setmetatable(L, -2);
    return object;
}

void core_set_string(lua_State *L, const char *name, const char *text)
{
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

void core_set_number(lua_State *L, const char *name, lua_Number number)
{
    lua_pushnumber(L, number);
    lua_setfield(L, -2, name);
}

void core_set_boolean(lua_State *L, const char *name, bool boolean)
{
    lua_pushboolean(L, boolean);
    lua_setfield(L, -2, name);
}

lua_Number core_number_field(lua_State *L, int index, const char *name)
{
    lua_getfield(L, index, name);
    lua_Number number = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return number;
}

bool core_boolean_field(lua_State *L, int index, const char *name)
{
    lua_getfield(L, index, name);
    bool boolean = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return boolean;
}

const char **core_strings(lua_State *L, int index, size_t *count)
{
    luaL_checktype(L, index, LUA_TTABLE);
    *count = lua_objlen(L, index);
    const char **strings = lua_newuserdata(L, (*count + 1) * sizeof *strings);
    for (size_t i = 0; i < *count; i++) {
        lua_rawgeti(L, index, (int)i + 1);
        strings[i] = luaL_checkstring(L, -1);
        lua_pop(L, 1);
    }
    strings[*count] = NULL;
    return strings;
}

pid_t *core_pids(lua_State *L, int index, size_t *count)
{
    luaL_checktype(L, index, LUA_TTABLE);
    *count = lua_objlen(L, index);
    pid_t *pids = lua_newuserdata(L, (*count + 1) * sizeof *pids);
    for (size_t i = 0; i < *count; i++) {
        lua_rawgeti(L, index, (int)i + 1);
        pids[i] = (pid_t)luaL_checkinteger(L, -1);
        lua_pop(L, 1);
    }
    return pids;
}

int core_push_strings(lua_State *L, char **strings, size_t count)
{
    lua_createtable(L, (int)count, 0); /* list */
    for (size_t i = 0; i < count; i++) {
        lua_pushstring(L, strings[i]);
        lua_rawseti(L, -2, (int)i + 1);
        free(strings[i]);
    }
    free(strings);
    return 1;
}

int core_push_natural(lua_State *L, lua_Integer number)
{
    if (number < 0)
        lua_pushnil(L);
    else
        lua_pushinteger(L, number);
    return 1;
}

const char *core_string_in(lua_State *L, int index, struct arena *arena)
{
    size_t length = 0;
    const char *text = lua_tolstring(L, index, &length);
    return arena_string(arena, text ? text : "", length);
}
