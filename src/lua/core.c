/* The table uplua.core: one entry for each object that C registers. */
#include "lua/core.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "lua/natives.h"

#define SET_OBJECT(object)                                                                                             \
    object##_open_lua(L);                                                                                              \
    lua_setfield(L, -2, #object);

int core_open_lua(lua_State *L)
{
    lua_newtable(L);
    CORE_OBJECTS(SET_OBJECT)
    lua_pushliteral(L, UPLUA_VERSION);
    lua_setfield(L, -2, "version");
    lua_pushlightuserdata(L, (void *)natives_table());
    lua_setfield(L, -2, "natives");
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

void core_set_string_at(lua_State *L, int place, const char *text)
{
    lua_pushstring(L, text);
    lua_rawseti(L, -2, place);
}

void core_set_number_at(lua_State *L, int place, lua_Number number)
{
    lua_pushnumber(L, number);
    lua_rawseti(L, -2, place);
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
        core_set_string_at(L, (int)i + 1, strings[i]);
        free(strings[i]);
    }
    free(strings);
    return 1;
}

int core_push_boolean(lua_State *L, bool boolean)
{
    lua_pushboolean(L, boolean);
    return 1;
}

int core_push_number(lua_State *L, lua_Number number)
{
    lua_pushnumber(L, number);
    return 1;
}

int core_push_string(lua_State *L, const char *text)
{
    lua_pushstring(L, text);
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

const char *core_string_field_in(lua_State *L, int index, const char *name, struct arena *arena)
{
    lua_getfield(L, index, name);
    const char *text = core_string_in(L, -1, arena);
    lua_pop(L, 1);
    return text;
}

const char *const *core_strings_field_in(lua_State *L, int index, const char *name, struct arena *arena, size_t *count)
{
    lua_getfield(L, index, name); /* list */
    *count = lua_istable(L, -1) ? lua_objlen(L, -1) : 0;
    const char **strings = lua_istable(L, -1) ? arena_allocate(arena, (*count + 1) * sizeof *strings) : NULL;
    for (size_t i = 0; i < *count; i++) {
        lua_rawgeti(L, -1, (int)i + 1);
        strings[i] = core_string_in(L, -1, arena);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return strings;
}
