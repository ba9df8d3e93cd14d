/* BPF objects that were damaged: opening one ends in an object or a message. `make asan` runs this under the
 * sanitizers. */
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>

#include "base/error.h"
#include "lua/state.h"
#include "tap.h"

static const char start[] = "package.path = './lua/?.lua;./build/lua/?.lua;./tests/reference/?.lua;' .. package.path\n"
                            "return require('hostile_objects').damaged\n";

int main(int argc, char *argv[])
{
    static const struct {
        const char *path;
        int least;
    } objects[] = {
        {"build/objects/guest.bpf.o", 30},
        {"build/objects/kinds.bpf.o", 30},
        {"build/objects/core.bpf.o", 30},
        {"build/objects/untyped.bpf.o", 30},
    };
    int times = argc > 1 ? atoi(argv[1]) : 1; /* as many objects, for those who want to know more */
    struct error err = {0};
    lua_State *L = state_new(&err);
    if (!ok(L && !luaL_loadstring(L, start) && !lua_pcall(L, 0, 1, 0), "the reader of objects is loaded")) {
        printf("# %s\n", L ? lua_tostring(L, -1) : err.text);
        return done_testing();
    }
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        lua_pushvalue(L, 1);
        lua_pushstring(L, objects[i].path);
        lua_pushinteger(L, 200 * times);
        lua_pushinteger(L, 101);
        if (!is_int(lua_pcall(L, 3, 3, 0), 0, "%s, damaged in %d ways", objects[i].path, 200 * times)) {
            printf("# %s\n", lua_tostring(L, -1));
        } else {
            int opened = (int)lua_tointeger(L, -3), refused = (int)lua_tointeger(L, -2);
            is_str(lua_tostring(L, -1), "", "%d of them open, %d are refused with a message", opened, refused);
            ok(opened >= objects[i].least && refused >= objects[i].least, "… both happen");
        }
        lua_settop(L, 1);
    }
    state_free(L);
    return done_testing();
}
