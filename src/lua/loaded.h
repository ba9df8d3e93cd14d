/* The result of compiler:load: the programs, maps and counters of a setup. They are closed when it is collected. */
#pragma once

#include <lua.h>

#include "compile/compile.h"

struct lua_loaded {
    struct object *object; /* until it is loaded or thrown away */
    struct loaded *loaded;
}; /* its environment table: the causes of the counters in its ledger, from 0 */

/* Registers the class. */
void lua_loaded_open(lua_State *L);

/* Pushes one with nothing in it, owned by L. */
struct lua_loaded *lua_loaded_new(lua_State *L);

/* Pushes { fd =, cookie =, entry_fd =, entry_cookie =, session = } for each of COUNT HANDLERS, of what LOADED has. */
void lua_loaded_push_handlers(lua_State *L, const struct lua_loaded *loaded, const struct handler *handlers,
                              size_t count);
