/* Finds the modules that are part of uplua's own file, by a table: a static file has no symbols to ask for. */
#include "lua/embedded.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *name, const void *module)
{
    return strcmp(name, ((const struct embedded_module *)module)->name);
}

/* __index of package.preload: (preload, name) → the function that makes the module, or nil */
static int find(lua_State *L)
{
    const struct embedded *embedded = lua_touserdata(L, lua_upvalueindex(1));
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    const struct embedded_module *module =
        bsearch(name, embedded->modules, embedded->count, sizeof *embedded->modules, by_name);
    if (!module)
        return 0;
    if (module->open)
        lua_pushcfunction(L, module->open);
    else if (luaL_loadbuffer(L, module->bytecode, ~(size_t)0, name)) /* the bytecode says where it ends */
        return lua_error(L);
    return 1;
}

void embedded_open(lua_State *L, const struct embedded *embedded)
{
    lua_getglobal(L, "package");    /* package */
    lua_getfield(L, -1, "preload"); /* package preload */
    lua_createtable(L, 0, 1);       /* package preload metatable */
    lua_pushlightuserdata(L, (void *)embedded);
    lua_pushcclosure(L, find, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pop(L, 2);
}
