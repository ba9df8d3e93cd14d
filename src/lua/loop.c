/* core.loop: the epoll instance and the stop signals, for lua/uplua/base/loop.lua. */
#include <lauxlib.h>
#include <unistd.h>

#include "lua/core.h"
#include "sys/events.h"
#include "sys/interrupt.h"

#define LOOP "uplua.loop"

enum { READY_MAX = 64 };

/* The epoll instance of the loop that is argument 1. */
static int check_loop(lua_State *L)
{
    const int *events = luaL_checkudata(L, 1, LOOP);
    return *events;
}

/* new() → the loop of a run: what it waits for, and the stop signals */
static int loop_new(lua_State *L)
{
    int *events = core_new_object(L, sizeof *events, LOOP);
    struct error err;
    *events = events_open(&err);
    return *events < 0 || events_add(*events, interrupt_fd(), false, &err) < 0 ? core_raise(L, &err) : 1;
}

static int loop_gc(lua_State *L)
{
    int *events = lua_touserdata(L, 1);
    if (*events >= 0)
        close(*events);
    *events = -1;
    return 0;
}

/* loop:add(fd, [edge]): waits for it too; EDGE: edge-triggered (sys/events.h) */
static int loop_add(lua_State *L)
{
    struct error err;
    int events = check_loop(L), fd = (int)luaL_checkinteger(L, 2);
    return events_add(events, fd, lua_toboolean(L, 3), &err) < 0 ? core_raise(L, &err) : 0;
}

/* loop:remove(fd) */
static int loop_remove(lua_State *L)
{
    events_remove(check_loop(L), (int)luaL_checkinteger(L, 2));
    return 0;
}

/* loop:wait(ready, seconds or nil) → number of descriptors stored in the table READY */
static int loop_wait(lua_State *L)
{
    int events = check_loop(L);
    luaL_checktype(L, 2, LUA_TTABLE);
    int64_t ns = -1;
    if (!lua_isnoneornil(L, 3)) {
        lua_Number wanted = luaL_checknumber(L, 3) * 1e9;
        /* Rounded up: a timer must be due when the wait is over. */
        ns = wanted <= 0 ? 0 : wanted > 1e15 ? 1000000000000000 : (int64_t)wanted + 1;
    }
    int ready[READY_MAX];
    int count = events_wait(events, ns, ready, READY_MAX);
    if (count < 0)
        return luaL_error(L, "cannot wait for events: error %d", -count);
    for (int i = 0; i < count; i++) {
        lua_pushinteger(L, ready[i]);
        lua_rawseti(L, 2, i + 1);
    }
    return core_push_number(L, count);
}

/* now() → seconds of the monotonic clock */
static int loop_now(lua_State *L)
{
    return core_push_number(L, events_now());
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

/* at_once(whether): a signal ends code of the user's that is running within a tenth of a second: the prompt's */
static int loop_at_once(lua_State *L)
{
    state_interrupt_at_once(L, lua_toboolean(L, 1));
    return 0;
}

/* reload_by_hangup() → a descriptor that is readable once SIGHUP asks to load the script again, which is no request to
 * stop any more; raises why not */
static int loop_reload_by_hangup(lua_State *L)
{
    struct error err;
    int fd = interrupt_reload_by_hangup(&err);
    return fd < 0 ? core_raise(L, &err) : core_push_number(L, fd);
}

/* take_reload(): forgets that it was asked for */
static int loop_take_reload(lua_State *L)
{
    (void)L;
    interrupt_take_reload();
    return 0;
}

int loop_open_lua(lua_State *L)
{
    /* Time and signals are the process's, whatever the run. */
    static const luaL_Reg functions[] = {
        {"new", loop_new},
        {"now", loop_now},
        {"signal", loop_signal},
        {"take", loop_take},
        {"forget", loop_forget},
        {"at_once", loop_at_once},
        {"reload_by_hangup", loop_reload_by_hangup},
        {"take_reload", loop_take_reload},
        {NULL, NULL},
    };
    static const luaL_Reg methods[] = {{"add", loop_add}, {"remove", loop_remove}, {"wait", loop_wait}, {NULL, NULL}};
    core_new_class(L, LOOP, methods, loop_gc);
    return core_functions(L, functions);
}
