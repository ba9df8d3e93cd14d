/* The table uplua.core: one entry for each object that C registers. */
#include "lua/core.h"

#include <lauxlib.h>

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

_Noreturn void core_no_memory(void *L)
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

lua_Number core_number_field(lua_State *L, int index, const char *name)
{
    lua_getfield(L, index, name);
    lua_Number number = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return number;
}
