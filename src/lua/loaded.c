/* loaded: what the handlers of a setup have become in the kernel, programs, maps and counters. */
#include "lua/loaded.h"

#include <lauxlib.h>

#include "lua/core.h"

#define LOADED "uplua.loaded"

struct lua_loaded *lua_loaded_new(lua_State *L)
{
    return core_new_object(L, sizeof(struct lua_loaded), LOADED);
}

/* Sets what the program NAME is attached with in the table on the top: its descriptor and its cookie. */
static void set_program(lua_State *L, const struct lua_loaded *loaded, const char *name, const char *fd,
                        const char *cookie)
{
    const struct object_program *program = object_find_program(loaded->object, name);
    core_set_number(L, fd, loaded_program_fd(loaded->loaded, program && program->joint ? program->joint : name));
    core_set_number(L, cookie, program ? (lua_Integer)program->cookie : 0);
}

void lua_loaded_push_handlers(lua_State *L, const struct lua_loaded *loaded, const struct handler *handlers,
                              size_t count)
{
    lua_createtable(L, (int)count, 0); /* list */
    for (size_t i = 0; i < count; i++) {
        lua_createtable(L, 0, 7); /* list handler */
        set_program(L, loaded, handlers[i].program, "fd", "cookie");
        if (*handlers[i].entry_program)
            set_program(L, loaded, handlers[i].entry_program, "entry_fd", "entry_cookie");
        core_set_boolean(L, "session", handlers[i].session);
        core_set_boolean(L, "reads_registers", handlers[i].reads_registers);
        core_set_boolean(L, "reads_result", handlers[i].reads_result);
        lua_rawseti(L, -2, (int)i + 1);
    }
}

static struct lua_loaded *check_loaded(lua_State *L)
{
    return luaL_checkudata(L, 1, LOADED);
}

/* loaded:map(name) → descriptor of a map of the library, or nil */
static int loaded_map(lua_State *L)
{
    struct lua_loaded *self = check_loaded(L);
    return core_push_natural(L, self->loaded ? loaded_map_fd(self->loaded, luaL_checkstring(L, 2)) : -1);
}

/* loaded:program(name) → descriptor of the program that is no handler's, or nil */
static int loaded_program(lua_State *L)
{
    struct lua_loaded *self = check_loaded(L);
    return core_push_natural(L, self->loaded ? loaded_program_fd(self->loaded, luaL_checkstring(L, 2)) : -1);
}

/* loaded:counters(name) → the counters of the handlers or of the library, from 0; nil where it has none */
static int loaded_values(lua_State *L)
{
    struct lua_loaded *self = check_loaded(L);
    size_t count = 0;
    const volatile uint64_t *counters =
        self->loaded ? loaded_counters(self->loaded, luaL_checkstring(L, 2), &count) : NULL;
    if (!counters)
        return 0;
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++)
        core_set_number_at(L, (int)i, (lua_Number)counters[i]);
    return 1;
}

/* loaded:address(name) → the address of the counters NAME, which lives as long as LOADED; nil where it has none */
static int loaded_address(lua_State *L)
{
    struct lua_loaded *self = check_loaded(L);
    size_t count = 0;
    volatile uint64_t *counters = self->loaded ? loaded_counters(self->loaded, luaL_checkstring(L, 2), &count) : NULL;
    if (!counters)
        return 0;
    lua_pushlightuserdata(L, (void *)counters);
    return 1;
}

/* loaded:causes() → the texts of the counters `ledger`, from 0 */
static int loaded_causes(lua_State *L)
{
    check_loaded(L);
    lua_getfenv(L, 1); /* causes */
    return 1;
}

static int loaded_gc(lua_State *L)
{
    struct lua_loaded *self = check_loaded(L);
    loaded_free(self->loaded);
    self->loaded = NULL;
    object_free(self->object);
    self->object = NULL;
    return 0;
}

void lua_loaded_open(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"map", loaded_map},
        {"counters", loaded_values},
        {"address", loaded_address},
        {"causes", loaded_causes},
        {"program", loaded_program},
        {"free", loaded_gc},
        {NULL, NULL},
    };
    core_new_class(L, LOADED, methods, loaded_gc);
}
