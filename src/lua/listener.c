/* core.listener: sockets that others connect to, for lua/uplua/service/. */
#include <lauxlib.h>

#include "lua/core.h"
#include "sys/listener.h"

#define LISTENER "uplua.listener"

static struct listener *check(lua_State *L)
{
    return luaL_checkudata(L, 1, LISTENER);
}

/* open(address) → the socket that listens there (sys/listener.h); raises the reason */
static int new_listener(lua_State *L)
{
    const char *address = luaL_checkstring(L, 1);
    struct listener *self = core_new_object(L, sizeof *self, LISTENER);
    struct error err = {0};
    return listener_open(self, address, &err) < 0 ? core_raise(L, &err) : 1;
}

/* socket:fd() → its descriptor */
static int listener_fd(lua_State *L)
{
    lua_pushinteger(L, check(L)->fd);
    return 1;
}

/* socket:shown() → where it is, for people */
static int listener_shown(lua_State *L)
{
    lua_pushstring(L, check(L)->shown);
    return 1;
}

/* socket:close(): ends it */
static int listener_close_lua(lua_State *L)
{
    listener_close(check(L));
    return 0;
}

int listener_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {{"open", new_listener}, {NULL, NULL}};
    static const luaL_Reg methods[] = {
        {"fd", listener_fd}, {"shown", listener_shown}, {"close", listener_close_lua}, {NULL, NULL}};
    core_new_class(L, LISTENER, methods, listener_close_lua);
    return core_functions(L, functions);
}
