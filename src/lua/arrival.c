/* arrival: libraries that processes map later. */
#include <errno.h>
#include <lauxlib.h>

#include "lua/core.h"
#include "probe/target/late_modules.h"

#define ARRIVALS "uplua.arrivals"

CORE_HANDLE(arrivals, ARRIVALS, late_modules_free)

/* arrival.open() → arrivals; raises the reason */
static int arrival_open(lua_State *L)
{
    struct arrivals **self = core_new_object(L, sizeof *self, ARRIVALS); /* self */
    int code = late_modules_open(self);
    return code ? luaL_error(L, "cannot wait for libraries: records of mappings: %s", error_reason(code)) : 1;
}

/* arrivals:want(name) */
static int arrival_want(lua_State *L)
{
    return late_modules_want(check_arrivals(L), luaL_checkstring(L, 2)) ? luaL_error(L, "out of memory") : 0;
}

/* arrivals:fd() → a descriptor that is readable when take() may have something */
CORE_NUMBER_METHOD(late_modules_fd, arrivals)

static void add(const struct arrival *arrival, void *context)
{
    lua_State *L = context;
    lua_createtable(L, 0, 5); /* list one */
    core_set_number(L, "pid", arrival->pid);
    core_set_string(L, "name", arrival->name);
    core_set_string(L, "path", arrival->path);
    core_set_string(L, "file", arrival->identity);
    core_set_number(L, "time", (lua_Number)arrival->time / 1e9);
    lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
}

/* arrivals:take() → { { pid, name, path, file (what tells it from others), time }, … }: who has mapped what, at which
 * second of CLOCK_MONOTONIC */
static int arrival_take(lua_State *L)
{
    struct arrivals *arrivals = check_arrivals(L);
    lua_newtable(L);
    late_modules_take(arrivals, add, L);
    return 1;
}

/* arrivals:lost() → how many records the kernel could not deliver */
CORE_NUMBER_METHOD(late_modules_lost, arrivals)

/* arrival.identify(path) → what tells the file from others in what take() gives; nil where that is not to be had */
static int arrival_identify_lua(lua_State *L)
{
    char identity[ARRIVAL_IDENTITY_SIZE];
    int code = late_module_identify(luaL_checkstring(L, 1), identity);
    if (code == -ENOMEM)
        return luaL_error(L, "out of memory");
    if (code)
        return 0;
    return core_push_string(L, identity);
}

int arrival_open_lua(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"want", arrival_want}, {"fd", late_modules_fd_lua}, {"take", arrival_take}, {"lost", late_modules_lost_lua},
        {NULL, NULL},
    };
    static const luaL_Reg functions[] = {{"open", arrival_open}, {"identify", arrival_identify_lua}, {NULL, NULL}};
    core_new_class(L, ARRIVALS, methods, close_arrivals);
    return core_functions(L, functions);
}
