#include "lua/core.h"

#include <lauxlib.h>

static const luaL_Reg objects[] = {
    { "loop", loop_open_lua },
    { "readline", readline_open_lua },
    { "system", system_open_lua },
    { "target", target_open_lua },
    { NULL, NULL },
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
