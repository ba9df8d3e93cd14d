/*
 * The module `uplua.core`: what C gives to Lua. One file of src/lua per object, each with one function NAME_open_lua
 * that pushes the object's table and leaves it on the stack; core.c holds the one table of them.
 */
#ifndef UPLUA_LUA_CORE_H
#define UPLUA_LUA_CORE_H

#include <lauxlib.h>
#include <lua.h>

#include "base/error.h"

/* require "uplua.core" → { loop = …, system = …, target = …, … } */
int core_open_lua(lua_State *L);

/* Each pushes the table of its object: the fields of uplua.core. */
int arrival_open_lua(lua_State *L);
int cgroup_open_lua(lua_State *L);
int event_open_lua(lua_State *L);
int guest_open_lua(lua_State *L);
int kernel_open_lua(lua_State *L);
int loop_open_lua(lua_State *L);
int module_open_lua(lua_State *L);
int probe_open_lua(lua_State *L);
int readline_open_lua(lua_State *L);
int setup_open_lua(lua_State *L);
int cost_open_lua(lua_State *L);
int symbols_open_lua(lua_State *L);
int system_open_lua(lua_State *L);
int target_open_lua(lua_State *L);
int tracepoint_open_lua(lua_State *L);
int unwind_open_lua(lua_State *L);
int usdt_open_lua(lua_State *L);

/* Raises ERR's text as a Lua error, as it stands: it is made for the user and needs no position in uplua's own code. */
int core_raise(lua_State *L, const struct error *err);

/* Raises "out of memory" in the state L: what an arena of a Lua function leaves by. */
_Noreturn void core_no_memory(void *L);

/* Returns nil and ERR's text: for what is not there, which may be no error. */
int core_absent(lua_State *L, const struct error *err);

/* Registers the metatable NAME of a userdata with METHODS and the finalizer GC. */
void core_new_class(lua_State *L, const char *name, const luaL_Reg *methods, lua_CFunction gc);

/* The number NAME of the table at INDEX; 0 where it is none. */
lua_Number core_number_field(lua_State *L, int index, const char *name);

struct symbols;
/* The symbol cache that is argument INDEX; an argument error where it is none. */
struct symbols *lua_symbols(lua_State *L, int index);

/* Clears the hook that interrupts Lua code which does not return (state.c). */
void state_clear_hook(lua_State *L);

#endif
