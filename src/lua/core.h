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

/* The fields of uplua.core: NAME_open_lua pushes the table that is one of them. */
#define CORE_OBJECTS(object)                                                                                           \
    object(arrival) object(cgroup) object(cost) object(event) object(file_watch) object(gzip) object(guest)            \
        object(kernel) object(listener) object(loop) object(module) object(probe) object(readline) object(rights)      \
            object(screen) object(setup) object(symbols) object(system) object(target) object(tracepoint)              \
                object(types) object(unwind) object(usdt)
#define CORE_DECLARE(object) int object##_open_lua(lua_State *L);
CORE_OBJECTS(CORE_DECLARE)

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

/* Of userdata of CLASS, each a struct TYPE * that RELEASE frees: check_TYPE(L) is the one that is argument 1, open, and
 * close_TYPE its finalizer. */
#define CORE_HANDLE(type, class, release)                                                                              \
    static struct type *check_##type(lua_State *L)                                                                     \
    {                                                                                                                  \
        struct type **self = luaL_checkudata(L, 1, class);                                                             \
        luaL_argcheck(L, *self, 1, "closed");                                                                          \
        return *self;                                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    static int close_##type(lua_State *L)                                                                              \
    {                                                                                                                  \
        struct type **self = luaL_checkudata(L, 1, class);                                                             \
        release(*self);                                                                                                \
        *self = NULL;                                                                                                  \
        return 0;                                                                                                      \
    }

/* Defines METHOD_lua, a method of such a userdata that calls METHOD of its struct TYPE and returns nothing. */
#define CORE_METHOD(method, type)                                                                                      \
    static int method##_lua(lua_State *L)                                                                              \
    {                                                                                                                  \
        method(check_##type(L));                                                                                       \
        return 0;                                                                                                      \
    }

/* The same of one that returns a number. */
#define CORE_NUMBER_METHOD(method, type)                                                                               \
    static int method##_lua(lua_State *L)                                                                              \
    {                                                                                                                  \
        return core_push_number(L, (lua_Number)method(check_##type(L)));                                               \
    }

/* Set the field NAME of the table on the top. A TEXT of NULL is nil. */
void core_set_string(lua_State *L, const char *name, const char *text);
void core_set_number(lua_State *L, const char *name, lua_Number number);
void core_set_boolean(lua_State *L, const char *name, bool boolean);
/* The same of its element PLACE. */
void core_set_string_at(lua_State *L, int place, const char *text);
void core_set_number_at(lua_State *L, int place, lua_Number number);

/* The number or the boolean NAME of the table at INDEX; 0 and false where it is none. */
lua_Number core_number_field(lua_State *L, int index, const char *name);
bool core_boolean_field(lua_State *L, int index, const char *name);

/* The strings, or process ids, of the list at INDEX: a userdata that is pushed. Strings end with a NULL; the list keeps
 * them. */
const char **core_strings(lua_State *L, int index, size_t *count);
pid_t *core_pids(lua_State *L, int index, size_t *count);
/* Each pushes one value, what a function returns, and returns 1. */
int core_push_boolean(lua_State *L, bool boolean);
int core_push_number(lua_State *L, lua_Number number);
/* A TEXT of NULL is nil. */
int core_push_string(lua_State *L, const char *text);
/* The COUNT STRINGS as a list; frees them. */
int core_push_strings(lua_State *L, char **strings, size_t count);
/* A descriptor, a status; nil where NUMBER is negative, which stands for none. */
int core_push_natural(lua_State *L, lua_Integer number);

struct arena;
/* In ARENA: the string at INDEX, "" where it is none; the field NAME of the table at INDEX, as that; and as a list of
 * *COUNT such strings, NULL where it is no table. */
const char *core_string_in(lua_State *L, int index, struct arena *arena);
const char *core_string_field_in(lua_State *L, int index, const char *name, struct arena *arena);
const char *const *core_strings_field_in(lua_State *L, int index, const char *name, struct arena *arena, size_t *count);

struct symbols;
/* The symbol cache that is argument 1; an argument error where it is none. */
struct symbols *lua_symbols(lua_State *L);

/* Clears the hook that interrupts Lua code which does not return (state.c). */
void state_clear_hook(lua_State *L);
/* Whether a signal ends the user's code within a tenth of a second, and not only what has kept the loop waiting for
 * seconds (state.c). */
void state_interrupt_at_once(lua_State *L, bool whether);
