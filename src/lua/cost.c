/* core.cost: what probes take: between a function's entry and its return, in their programs, and by their traps. */
#include "lua/cost.h"

#include <lauxlib.h>

#include "lua/core.h"
#include "probe/attach/cost.h"
#include "probe/attach/trap.h"
#include "sys/bpf.h"

static const char *const entry_names[] = {
    [ENTRY_STEPPED] = "stepped",
    [ENTRY_EMULATED] = "emulated",
    [ENTRY_REPLACED] = "replaced",
    [ENTRIES] = NULL,
};

struct cost_run *cost_begin_for(const struct handler *handlers, size_t count)
{
    unsigned wanted = 0;
    for (size_t i = 0; i < count; i++) {
        bool at_exit = handlers[i].of_go || handlers[i].by_instruction;
        const struct sites *sites = handlers[i].net ? handlers[i].sites : NULL;
        for (size_t s = 0; sites && s < sites->count; s++)
            wanted |= COST_BIT(at_exit ? COST_OF_EXIT : COST_OF_RETURN, sites->items[s].entry);
    }
    return cost_begin(wanted);
}

void cost_write(volatile uint64_t *counters)
{
    for (unsigned entry = 0; entry < ENTRIES && counters; entry++) {
        const struct cost *parts[COST_PARTS] = {
            [COST_AT_RETURN] = cost_of(COST_OF_RETURN, (enum entry)entry),
            [COST_AT_EXIT] = cost_of(COST_OF_EXIT, (enum entry)entry),
            [COST_AROUND] = cost_around((enum entry)entry),
        };
        for (unsigned part = 0; part < COST_PARTS; part++)
            counters[part * COST_ENTRIES + entry] = parts[part] ? parts[part]->ns : 0;
    }
}

/* cost.again(counters …): measures anew, and tells the handlers that have these (loaded:address) */
static int cost_again_lua(lua_State *L)
{
    cost_again();
    for (int i = 1; i <= lua_gettop(L); i++)
        cost_write(lua_touserdata(L, i));
    return 0;
}

/*
 * cost.known() → { { entry = "stepped" | "emulated" | "replaced", exits = true where probes stand on return
 * instructions, ns, low, high }, … }, as struct cost has it
 */
static int cost_known(lua_State *L)
{
    lua_newtable(L);
    for (unsigned i = 0; i < COST_WAYS * ENTRIES; i++) {
        const struct cost *cost = cost_of((enum cost_way)(i / ENTRIES), (enum entry)(i % ENTRIES));
        if (!cost)
            continue;
        lua_createtable(L, 0, 5); /* list one */
        core_set_string(L, "entry", entry_names[i % ENTRIES]);
        core_set_boolean(L, "exits", i / ENTRIES == COST_OF_EXIT);
        core_set_number(L, "ns", cost->ns);
        core_set_number(L, "low", cost->low);
        core_set_number(L, "high", cost->high);
        lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
    }
    return 1;
}

/* cost.forget(): to be called before handlers are loaded that want to know, once the earlier links are closed */
static int cost_forget_lua(lua_State *L)
{
    (void)L;
    cost_forget();
    return 0;
}

/* cost.trap("entry" | "return" | "exit", "stepped" | "emulated" | "replaced") → the ns of the traps of a hit there
 * (probe/attach/trap.h); nil and the reason where they cannot be measured */
static int cost_trap(lua_State *L)
{
    static const char *const traps[] = {"entry", "return", "exit", NULL};
    enum trap trap = (enum trap)luaL_checkoption(L, 1, NULL, traps);
    enum entry entry = (enum entry)luaL_checkoption(L, 2, NULL, entry_names);
    uint64_t ns = 0;
    struct error err = {0};
    if (trap_price(trap, entry, &ns, &err))
        return core_absent(L, &err);
    return core_push_number(L, (lua_Number)ns);
}

/* cost.count_runs() → a descriptor: until core.system.close of it the kernel counts the runs of programs; nil and the
 * reason */
static int cost_count_runs(lua_State *L)
{
    struct error err = {0};
    int fd = bpf_stats_enable();
    if (fd >= 0)
        return core_push_number(L, fd);
    error_set(&err, fd, "the kernel does not count the runs of programs: %s", error_reason(fd));
    return core_absent(L, &err);
}

/* cost.runs(program) → how often it has run while the kernel counted, and for how many ns; nil if it does not tell */
static int cost_runs(lua_State *L)
{
    uint64_t runs, ns;
    if (bpf_program_runs((int)luaL_checkinteger(L, 1), &runs, &ns))
        return 0;
    lua_pushnumber(L, (lua_Number)runs);
    lua_pushnumber(L, (lua_Number)ns);
    return 2;
}

int cost_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"again", cost_again_lua},
        {"known", cost_known},
        {"forget", cost_forget_lua},
        {"trap", cost_trap},
        {"count_runs", cost_count_runs},
        {"runs", cost_runs},
        {NULL, NULL},
    };
    return core_functions(L, functions);
}
