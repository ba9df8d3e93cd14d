/* core.loop: the epoll instance and the stop signals, for lua/uplua/base/loop.lua. */
#include <lauxlib.h>

#include "lua/core.h"
#include "sys/events.h"
#include "sys/interrupt.h"

enum { READY_MAX = 64 };

/* add(fd): waits for it too */
static int loop_add(lua_State *L)
{
    struct error err;
    if (events_add((int)lua_tointeger(L, lua_upvalueindex(1)), (int)luaL_checkinteger(L, 1), &err) < 0)
        return core_raise(L, &err);
    return 0;
}

/* remove(fd) */
static int loop_remove(lua_State *L)
{
    events_remove((int)lua_tointeger(L, lua_upvalueindex(1)), (int)luaL_checkinteger(L, 1));
    return 0;
}

/* wait(ready, seconds or nil) → number of descriptors stored in the table READY */
static int loop_wait(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    int milliseconds = -1;
    if (!lua_isnoneornil(L, 2)) {
        lua_Number wanted = luaL_checknumber(L, 2) * 1000;
        /* Rounded up: a timer must be due when the wait is over. */
        milliseconds = wanted <= 0 ? 0 : wanted > 1e9 ? 1000000000 : (int)wanted + 1;
    }
    int ready[READY_MAX];
    int count = events_wait((int)lua_tointeger(L, lua_upvalueindex(1)), milliseconds, ready, READY_MAX);
    if (count < 0)
        return luaL_error(L, "cannot wait for events: error %d", -count);
    for (int i = 0; i < count; i++) {
        lua_pushinteger(L, ready[i]);
        lua_rawseti(L, 1, i + 1);
    }
    lua_pushinteger(L, count);
    return 1;
}

/* now() → seconds of the monotonic clock */
static int loop_now(lua_State *L)
{
    lua_pushnumber(L, events_now());
    return 1;
}

/* signal() → the signal that asks to stop and whether the terminal sent it, or nil */
static int loop_signal(lua_State *L)
{
    bool from_terminal;
    int signal = interrupt_signal(&from_terminal);
    if (!signal)
        return 0;
    lua_pushinteger(L, signal);
    lua_pushboolean(L, from_terminal);
    return 2;
}

/* take(): the run is about to end; the next signal ends the process */
static int loop_take(lua_State *L)
{
    interrupt_take();
    state_clear_hook(L);
    return 0;
}

/* forget(): the session goes on as if there had been no signal */
static int loop_forget(lua_State *L)
{
    interrupt_forget();
    state_clear_hook(L);
    return 0;
}

int loop_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"add", loop_add},       {"remove", loop_remove}, {"wait", loop_wait},     {"now", loop_now},
        {"signal", loop_signal}, {"take", loop_take},     {"forget", loop_forget},
    };
    struct error err;
    int events = events_open(&err);
    if (events < 0 || events_add(events, interrupt_fd(), &err) < 0)
        return core_raise(L, &err);
    lua_newtable(L);
    for (unsigned i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        lua_pushinteger(L, events);
        lua_pushcclosure(L, functions[i].func, 1); /* loop function */
        lua_setfield(L, -2, functions[i].name);
    }
    return 1;
}
