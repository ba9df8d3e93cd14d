/* What lua-cjson is compiled with (static.mk): it brings along a function for other Luas that LuaJIT has. */
#pragma once

#include <lauxlib.h>

#define luaL_setfuncs cjson_setfuncs
