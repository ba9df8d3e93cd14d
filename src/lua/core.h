/*
 * The module `uplua.core`: what C gives to Lua. One file of src/lua per object, each with one function NAME_open_lua
 * that pushes the object's table and leaves it on the stack; core.c holds the one table of them.
 */
#pragma once

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <sys/types.h>

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
void core_no_memory(void *L) __attribute__((noreturn));

/* Returns nil and ERR's text: for what is not there, which may be no error. */
int core_absent(lua_State *L, const struct error *err);

/* Registers the metatable NAME of a userdata with METHODS and the finalizer GC. */
void core_new_class(lua_State *L, const char *name, const luaL_Reg *methods, lua_CFunction gc);

/* Pushes a table of FUNCTIONS; returns 1. */
int core_functions(lua_State *L, const luaL_Reg *functions);
/* Pushes a userdata of CLASS, SIZE bytes that are 0. */
void *core_new_object(lua_State *L, size_t size, const char *class);

/* Set the field NAME of the table on the top. A TEXT of NULL is nil. */
void core_set_string(lua_State *L, const char *name, const char *text);
void core_set_number(lua_State *L, const char *name, lua_Number number);
void core_set_boolean(lua_State *L, const char *name, bool boolean);

/* The number or the boolean NAME of the table at INDEX; 0 and false where it is none. */
lua_Number core_number_field(lua_State *L, int index, const char *name);
bool core_boolean_field(lua_State *L, int index, const char *name);

/* The strings, or process ids, of the list at INDEX: a userdata that is pushed. Strings end with a NULL; the list keeps
 * them. */
const char **core_strings(lua_State *L, int index, size_t *count);
pid_t *core_pids(lua_State *L, int index, size_t *count);
/* Pushes the COUNT STRINGS as a list, and frees them; returns 1. */
int core_push_strings(lua_State *L, char **strings, size_t count);
/* Returns NUMBER to Lua: a descriptor, a status; nil where it is negative, which stands for none. */
int core_push_natural(lua_State *L, lua_Integer number);

struct arena;
/* The string at INDEX, "" where it is none, in ARENA. */
const char *core_string_in(lua_State *L, int index, struct arena *arena);

struct symbols;
/* The symbol cache that is argument INDEX; an argument error where it is none. */
struct symbols *lua_symbols(lua_State *L, int index);

/* Clears the hook that interrupts Lua code which does not return (state.c). */
void state_clear_hook(lua_State *L);
