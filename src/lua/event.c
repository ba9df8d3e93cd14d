/* core.event: what the kernel's perf counts. */
#include "lua/event.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/core.h"
#include "lua/target.h"
#include "sys/perf.h"

static uint64_t word_field(lua_State *L, int index, const char *name)
{
    lua_getfield(L, index, name);
    uint64_t word = lua_type(L, -1) == LUA_TSTRING ? strtoull(lua_tostring(L, -1), NULL, 16) : (uint64_t)lua_tonumber(L, -1);
    lua_pop(L, 1);
    return word;
}

static bool flag_field(lua_State *L, int index, const char *name)
{
    lua_getfield(L, index, name);
    bool flag = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return flag;
}

void lua_event(lua_State *L, int index, struct event *event)
{
    luaL_checktype(L, index, LUA_TTABLE);
    memset(event, 0, sizeof *event);
    struct perf_event_attr *attr = &event->attr;
    attr->type = (uint32_t)word_field(L, index, "type");
    attr->config = word_field(L, index, "config");
    attr->config1 = word_field(L, index, "config1");
    attr->config2 = word_field(L, index, "config2");
    attr->sample_period = word_field(L, index, "period");
    uint64_t hertz = word_field(L, index, "hertz");
    if (hertz) {
        attr->freq = 1;
        attr->sample_freq = hertz;
    }
    attr->sample_type = attr->sample_period ? PERF_SAMPLE_ADDR : 0; /* else e.addr is not set where there is none */
    attr->exclude_user = flag_field(L, index, "no_user");
    attr->exclude_kernel = flag_field(L, index, "no_kernel");
    attr->exclude_idle = flag_field(L, index, "no_idle");
    event->once = flag_field(L, index, "once");
}

/* event.check(event): raises what this machine lacks for it */
static int event_check_lua(lua_State *L)
{
    struct event event;
    struct error err = { 0 };
    lua_event(L, 1, &event);
    return event_check(&event, &err) ? core_raise(L, &err) : 0;
}

/* event.in_threads(event) → whether it is attached to the target's threads, not to CPUs */
static int event_in_threads_lua(lua_State *L)
{
    struct event event;
    lua_event(L, 1, &event);
    lua_pushboolean(L, event_in_threads(&event, lua_target(L)));
    return 1;
}

/* event.max_rate() → the samples a second that the kernel permits; 0 where it does not say */
static int event_max_rate(lua_State *L)
{
    lua_pushinteger(L, perf_max_rate());
    return 1;
}

int event_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "check", event_check_lua }, { "in_threads", event_in_threads_lua }, { "max_rate", event_max_rate }, { NULL, NULL },
    };
    lua_newtable(L);
    luaL_register(L, NULL, functions);
    return 1;
}
