/* core.rights: what the process may do, and gives up. */
#include <errno.h>
#include <lauxlib.h>

#include "lua/core.h"
#include "sys/rights.h"

/* rights.drop(kept, [user]) → the names of the capabilities that it has now: those of the list KEPT that it had before
 * (sys/rights.h); nil where it has to be called again, since there is another thread. Raises what is wrong. */
static int rights_drop_lua(lua_State *L)
{
    struct error err = {0};
    unsigned kept = 0, held = rights_held();
    luaL_checktype(L, 1, LUA_TTABLE);
    for (unsigned i = 0; i < RIGHTS; i++) {
        lua_getfield(L, 1, right_name((enum right)i));
        kept |= lua_toboolean(L, -1) ? 1u << i : 0;
        lua_pop(L, 1);
    }
    int code = rights_drop(kept, lua_tostring(L, 2), &err);
    if (code == -EAGAIN)
        return 0;
    if (code)
        return core_raise(L, &err);
    lua_newtable(L);
    for (unsigned i = 0, n = 0; i < RIGHTS; i++)
        if (kept & held & 1u << i) {
            lua_pushstring(L, right_name((enum right)i));
            lua_rawseti(L, -2, (int)++n);
        }
    return 1;
}

/* rights.check_user(user): raises that there is none of that name. */
static int rights_check_user_lua(lua_State *L)
{
    struct error err = {0};
    return rights_check_user(luaL_checkstring(L, 1), &err) ? core_raise(L, &err) : 0;
}

int rights_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"drop", rights_drop_lua}, {"check_user", rights_check_user_lua}, {NULL, NULL}};
    return core_functions(L, functions);
}
