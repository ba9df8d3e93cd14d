/* The one Lua state of the process. */
#pragma once

#include <lua.h>

#include "base/error.h"
#include "lua/embedded.h"

/*
 * Makes the state: LuaJIT's libraries without what LUA_PATH, LUA_CPATH and LUA_INIT say and without the search paths
 * that begin in the current folder; `uplua.core` can be required; signals ask to stop. NULL with ERR filled on failure.
 */
lua_State *state_new(struct error *err);

/* Runs uplua.run.main, which is among the modules of EMBEDDED, over the command line. Returns the exit status; what
 * failed has been said on stderr. */
int state_run(lua_State *L, const struct embedded *embedded, int argc, char *argv[]);

void state_free(lua_State *L);
