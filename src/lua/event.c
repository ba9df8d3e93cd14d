/* core.event: what the kernel's perf counts. */
#include "lua/event.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/core.h"
#include "lua/target.h"
#include "probe/attach/counter.h"
#include "sys/perf.h"

static uint64_t word_field(lua_State *L, int index, const char *name)
{
    lua_getfield(L, index, name);
    uint64_t word =
        lua_type(L, -1) == LUA_TSTRING ? strtoull(lua_tostring(L, -1), NULL, 16) : (uint64_t)lua_tonumber(L, -1);
    lua_pop(L, 1);
    return word;
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
    /* sample_freq is the same word; without this e.addr is not set where there is none */
    attr->sample_type = attr->sample_period ? PERF_SAMPLE_ADDR : 0;
    attr->precise_ip = (unsigned)word_field(L, index, "precise") & 3;
    attr->exclude_host = core_boolean_field(L, index, "no_host");
    attr->exclude_guest = core_boolean_field(L, index, "no_guest");
    attr->exclude_user = core_boolean_field(L, index, "no_user");
    attr->exclude_kernel = core_boolean_field(L, index, "no_kernel");
    attr->exclude_idle = core_boolean_field(L, index, "no_idle");
    event->once = core_boolean_field(L, index, "once");
    lua_getfield(L, index, "cpus"); /* cpus */
    event->some = lua_istable(L, -1);
    for (size_t i = 1; event->some && i <= lua_objlen(L, -1); i++) {
        lua_rawgeti(L, -1, (int)i); /* cpus cpu */
        int cpu = (int)lua_tointeger(L, -1);
        if (cpu >= 0 && cpu < CPU_SETSIZE)
            CPU_SET(cpu, &event->cpus);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* event.check(event): raises what this machine lacks for it */
static int event_check_lua(lua_State *L)
{
    struct event event;
    struct error err = {0};
    lua_event(L, 1, &event);
    return event_check(&event, &err) ? core_raise(L, &err) : 0;
}

/* event.in_threads(event) → whether it is attached to the target's threads, not to CPUs */
static int event_in_threads_lua(lua_State *L)
{
    struct event event;
    lua_event(L, 1, &event);
    return core_push_boolean(L, event_in_threads(&event, lua_target(L)));
}

/* event.max_rate() → the samples a second that the kernel permits; 0 where it does not say */
static int event_max_rate(lua_State *L)
{
    return core_push_number(L, perf_max_rate());
}

#define COUNTER "uplua.counter"
enum { MAX_EVENTS = 16 };

struct lua_counter {
    struct counter *counter;
    size_t count; /* of its events */
};

/* event.count({ event, … }, { cgroup =, cpus =, children = }) → counter; raises the reason */
static int event_count_lua(lua_State *L)
{
    struct event events[MAX_EVENTS];
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checktype(L, 2, LUA_TTABLE);
    size_t count = lua_objlen(L, 1);
    luaL_argcheck(L, count > 0 && count <= MAX_EVENTS, 1, "1 to 16 events are expected");
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 1, (int)i + 1);
        lua_event(L, lua_gettop(L), &events[i]);
        lua_pop(L, 1);
    }
    lua_getfield(L, 2, "cgroup"); /* … cgroup */
    struct counter_options options = {
        .cgroup = lua_tostring(L, -1),
        .cpus = core_boolean_field(L, 2, "cpus"),
        .children = core_boolean_field(L, 2, "children"),
    };
    struct lua_counter *self = core_new_object(L, sizeof *self, COUNTER);
    self->count = count;
    struct error err = {0};
    return counter_open(events, count, lua_target(L), &options, &self->counter, &err) ? core_raise(L, &err) : 1;
}

/* counter:read() → { { place, { value, enabled, running }, … for each event }, … }; places that cannot be read are left
 * out */
static int counter_read_lua(lua_State *L)
{
    const struct lua_counter *self = luaL_checkudata(L, 1, COUNTER);
    size_t places = self->counter ? counter_places(self->counter) : 0;
    lua_createtable(L, (int)places, 0); /* list */
    for (size_t i = 0, n = 0; i < places; i++) {
        lua_createtable(L, (int)self->count + 1, 0); /* list place */
        core_set_number_at(L, 1, counter_place(self->counter, i));
        bool whole = true;
        for (size_t number = 0; number < self->count; number++) {
            struct perf_count read = {0};
            whole = whole && counter_read(self->counter, i, number, &read) == 0;
            lua_createtable(L, 3, 0); /* list place count */
            core_set_number_at(L, 1, (lua_Number)read.value);
            core_set_number_at(L, 2, (lua_Number)read.enabled);
            core_set_number_at(L, 3, (lua_Number)read.running);
            lua_rawseti(L, -2, (int)number + 2);
        }
        if (whole)
            lua_rawseti(L, -2, (int)++n);
        else
            lua_pop(L, 1);
    }
    return 1;
}

/* counter:in_threads() → whether its places are threads, not CPUs */
static int counter_in_threads_lua(lua_State *L)
{
    const struct lua_counter *self = luaL_checkudata(L, 1, COUNTER);
    return core_push_boolean(L, self->counter && counter_in_threads(self->counter));
}

/* counter:close(); closing twice is fine */
static int counter_close_lua(lua_State *L)
{
    struct lua_counter *self = luaL_checkudata(L, 1, COUNTER);
    counter_free(self->counter);
    self->counter = NULL;
    return 0;
}

int event_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"check", event_check_lua},
        {"in_threads", event_in_threads_lua},
        {"max_rate", event_max_rate},
        {"count", event_count_lua},
        {NULL, NULL},
    };
    static const luaL_Reg counter_methods[] = {
        {"read", counter_read_lua},
        {"in_threads", counter_in_threads_lua},
        {"close", counter_close_lua},
        {NULL, NULL},
    };
    core_new_class(L, COUNTER, counter_methods, counter_close_lua);
    return core_functions(L, functions);
}
