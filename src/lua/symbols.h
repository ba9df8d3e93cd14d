/* symbols: addresses of processes → names, for Lua (uplua.core.symbols). */
#ifndef UPLUA_LUA_SYMBOLS_H
#define UPLUA_LUA_SYMBOLS_H

#include <lua.h>

/* Pushes the module's table { new = function } and returns 1. To be registered as uplua.core's field "symbols". */
int symbols_open_lua(lua_State *L);

#endif
