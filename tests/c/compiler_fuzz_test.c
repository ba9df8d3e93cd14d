/*
 * Random handlers through the compiler, up to the object and its listing: those that are well typed, those that are
 * not, and those whose bytecode has been changed (tests/reference/hostile.lua). `make asan` runs this under the
 * sanitizers, with the IR checked behind each pass. The seeds are the same ones each time.
 */
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>

#include "base/error.h"
#include "lua/state.h"
#include "tap.h"

static const char start[] = "package.path = './lua/?.lua;./build/lua/?.lua;./tests/reference/?.lua;' .. package.path\n"
                            "return require 'hostile'\n";

/* [-0, +0] Calls hostile.WHAT(COUNT, SEED); the module is at 1. Checks that nothing was wrong, and that at least LEAST
 * were refused. */
static void run(lua_State *L, const char *what, int count, int seed, int least, const char *promise)
{
    lua_getfield(L, 1, what);
    lua_pushinteger(L, count);
    lua_pushinteger(L, seed);
    if (!is_int(lua_pcall(L, 2, 3, 0), 0, "%s: %d handlers from seed %d", what, count, seed)) {
        printf("# %s\n", lua_tostring(L, -1));
    } else {
        int compiled = (int)lua_tointeger(L, -3), refused = (int)lua_tointeger(L, -2);
        is_str(lua_tostring(L, -1), "", "%s: %d compiled, %d refused", promise, compiled, refused);
        ok(compiled + refused == count && refused >= least && compiled > 0, "… both happen");
    }
    lua_settop(L, 1);
}

int main(int argc, char *argv[])
{
    int times = argc > 1 ? atoi(argv[1]) : 1; /* as many programs, for those who want to know more */
    struct error err = {0};
    lua_State *L = state_new(&err);
    if (!ok(L && !luaL_loadstring(L, start) && !lua_pcall(L, 0, 1, 0), "the compiler and the generator are loaded")) {
        printf("# %s\n", L ? lua_tostring(L, -1) : err.text);
        return done_testing();
    }
    run(L, "well_typed", 100 * times, 101, 0, "what is well typed is compiled, but for limits");
    run(L, "ill_typed", 400 * times, 1001, 100, "what is not is refused with its line, or means something");
    run(L, "mutated", 400 * times, 2003, 100, "bytecode that is changed compiles, or is refused with a message");
    state_free(L);
    return done_testing();
}
