/* usdt: USDT probes of binaries, and where their arguments are. */
#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>

#include "lua/core.h"
#include "lua/sites.h"
#include "lua/target.h"
#include "probe/usdt/semaphore.h"
#include "probe/usdt/usdt.h"

#define PROBES "uplua.usdt"

/* What was found, until it has moved into tables. */
struct lua_probes {
    struct usdt_probe *probes;
    size_t count;
};

/* Pushes an argument as lua/uplua/probe/handler.lua describes it, with its `text` in the note. */
static void push_argument(lua_State *L, const struct usdt_argument *argument)
{
    static const char *const places[] = {
        [USDT_REGISTER] = "context",
        [USDT_MEMORY] = "memory",
        [USDT_CONSTANT] = "constant",
        [USDT_NOWHERE] = "nowhere",
    };
    const struct usdt_operand *operand = &argument->operand;
    char number[32];
    lua_createtable(L, 0, 8); /* argument */
    core_set_string(L, "text", argument->text);
    core_set_string(L, "kind", "integer");
    core_set_string(L, "place", places[operand->place]);
    core_set_number(L, "bits", operand->bits);
    switch (operand->place) {
    case USDT_REGISTER:
        core_set_number(L, "offset", operand->base);
        break;
    case USDT_MEMORY:
        core_set_number(L, "base", operand->base);
        core_set_number(L, "offset", operand->displacement);
        core_set_number(L, "index", operand->index);
        core_set_number(L, "index_bits", operand->index_bits);
        core_set_number(L, "shift", operand->shift);
        break;
    case USDT_CONSTANT:
        snprintf(number, sizeof number, "%lld", (long long)operand->displacement);
        core_set_string(L, "number", number);
        break;
    case USDT_NOWHERE:
        core_set_string(L, "type", operand->why);
        break;
    }
}

/* Pushes { provider, name, module, semaphore = boolean, problem, sites, arguments }; the sites move there. */
static void push_probe(lua_State *L, struct usdt_probe *probe)
{
    lua_createtable(L, 0, 7); /* probe */
    core_set_string(L, "provider", probe->provider);
    core_set_string(L, "name", probe->name);
    core_set_string(L, "module", probe->sites->module);
    core_set_string(L, "problem", probe->problem);
    core_set_boolean(L, "semaphore", probe->sites->semaphore != 0);
    lua_createtable(L, (int)probe->argument_count, 0); /* probe arguments */
    for (size_t i = 0; i < probe->argument_count; i++) {
        push_argument(L, &probe->arguments[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_setfield(L, -2, "arguments");
    sites_push(L, &probe->sites, &probe->site_count);
    lua_setfield(L, -2, "sites");
}

static int push_probes(lua_State *L, struct lua_probes *self)
{
    lua_createtable(L, (int)self->count, 0); /* list */
    for (size_t i = 0; i < self->count; i++) {
        push_probe(L, &self->probes[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

/*
 * usdt.find(spec [, pid]) → { { provider, name, module, semaphore, sites, arguments }, … }; nil and a text where the
 * target has not loaded such a library (yet); raises the reason where there is none. PID: as if that were the target
 */
static int usdt_find_lua(lua_State *L)
{
    const char *spec = luaL_checkstring(L, 1);
    pid_t pid = (pid_t)luaL_optinteger(L, 2, 0);
    const struct target process = {.pids = &pid, .count = 1};
    struct lua_probes *self = core_new_object(L, sizeof *self, PROBES);
    struct error err = {0};
    int result = usdt_find(spec, pid ? &process : lua_target(L), &self->probes, &self->count, &err);
    if (result)
        return result == -ENXIO ? core_absent(L, &err) : core_raise(L, &err);
    return push_probes(L, self);
}

/* usdt.list(binary or nil, provider, name) → the same, of patterns; what cannot be attached has a `problem`. Without
 * BINARY: the target's */
static int usdt_list_lua(lua_State *L)
{
    const char *binary = luaL_optstring(L, 1, NULL), *provider = luaL_checkstring(L, 2), *name = luaL_checkstring(L, 3);
    struct lua_probes *self = core_new_object(L, sizeof *self, PROBES);
    struct error err = {0};
    if (usdt_list(binary, provider, name, lua_target(L), &self->probes, &self->count, &err))
        return core_raise(L, &err);
    return push_probes(L, self);
}

/* usdt.unraised(sites) → { pid, … }: processes of the target in which a semaphore of SITES, which are attached to, is
 * still 0 */
static int usdt_unraised(lua_State *L)
{
    const struct sites *sites = sites_at(L, 1);
    const struct target *target = lua_target(L);
    int count = 0;
    lua_newtable(L); /* list */
    for (size_t i = 0; sites && i < target->count; i++)
        for (size_t s = 0; s < sites->count; s++) {
            if (s && sites->items[s].semaphore == sites->items[s - 1].semaphore) /* all are of one file */
                continue;
            if (semaphore_is_down(&sites->items[s], target->pids[i])) {
                core_set_number_at(L, ++count, target->pids[i]);
                break;
            }
        }
    return 1;
}

static int probes_gc(lua_State *L)
{
    struct lua_probes *self = luaL_checkudata(L, 1, PROBES);
    usdt_free(self->probes, self->count);
    self->probes = NULL;
    self->count = 0;
    return 0;
}

int usdt_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"find", usdt_find_lua}, {"list", usdt_list_lua}, {"unraised", usdt_unraised}, {NULL, NULL}};
    static const luaL_Reg no_methods[] = {{NULL, NULL}};
    core_new_class(L, PROBES, no_methods, probes_gc);
    return core_functions(L, functions);
}
