/* probe: sites in the target's binaries and links to the kernel. */
#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "lua/claims.h"
#include "lua/core.h"
#include "lua/event.h"
#include "lua/link.h"
#include "lua/sites.h"
#include "lua/target.h"
#include "probe/args/address.h"
#include "probe/args/variable.h"
#include "probe/attach/kernel.h"
#include "probe/attach/watch.h"
#include "probe/probe.h"
#include "sys/bpf.h"
#include "sys/feature.h"
#include "sys/watch_trial.h"

#define LINK "uplua.link"

struct probe_link **link_push(lua_State *L)
{
    return core_new_object(L, sizeof(struct probe_link *), LINK);
}

/* probe.attach("entry" | "return" | "session" | "exit", program, cookie, sites) → link; raises the reason */
static int probe_attach_lua(lua_State *L)
{
    static const char *const kinds[] = {"entry", "return", "session", "exit", NULL};
    int kind = luaL_checkoption(L, 1, NULL, kinds);
    int program = (int)luaL_checkinteger(L, 2);
    uint64_t cookie = (uint64_t)luaL_checkinteger(L, 3);
    const struct sites *sites = luaL_checkudata(L, 4, SITES);
    struct error err = {0};
    return probe_attach((enum attach_kind)kind, program, cookie, sites->items, sites->count, lua_target(L),
                        link_push(L), &err)
               ? core_raise(L, &err)
               : 1;
}

/*
 * probe.attach_again(link, kind, program, cookie, sites, pid): attaches for the process PID what attach was given, of
 * which LINK has been released; raises the reason
 */
static int probe_attach_again_lua(lua_State *L)
{
    static const char *const kinds[] = {"entry", "return", "session", "exit", NULL};
    struct probe_link **self = luaL_checkudata(L, 1, LINK);
    int kind = luaL_checkoption(L, 2, NULL, kinds);
    int program = (int)luaL_checkinteger(L, 3);
    uint64_t cookie = (uint64_t)luaL_checkinteger(L, 4);
    const struct sites *sites = luaL_checkudata(L, 5, SITES);
    pid_t pid = (pid_t)luaL_checkinteger(L, 6);
    luaL_argcheck(L, *self, 1, "closed");
    struct error err = {0};
    return probe_attach_again((enum attach_kind)kind, program, cookie, sites->items, sites->count, pid, *self, &err)
               ? core_raise(L, &err)
               : 0;
}

/*
 * link:release(pid) → a link of what this one has for the process PID, and has no more, to be closed; whether that has
 * to be before it is attached again (probe/probe.h). Nothing where it has nothing for PID alone: it goes on seeing it
 */
static int link_release(lua_State *L)
{
    struct probe_link **self = luaL_checkudata(L, 1, LINK);
    pid_t pid = (pid_t)luaL_checkinteger(L, 2);
    luaL_argcheck(L, *self, 1, "closed");
    struct error err = {0};
    struct probe_link **gone = link_push(L);
    if (probe_release(*self, pid, gone, &err))
        return core_raise(L, &err);
    if (!*gone)
        return 0;
    lua_pushboolean(L, probe_attach_type(ATTACH_ENTRY) != 0);
    return 2;
}

/* probe.filters("entry" | "return" | "session") → whether the kernel keeps the hits of processes other than the
 * target's from programs */
static int probe_filters_lua(lua_State *L)
{
    static const char *const kinds[] = {"entry", "return", "session", NULL};
    return core_push_boolean(L, probe_filters((enum attach_kind)luaL_checkoption(L, 1, NULL, kinds), lua_target(L)));
}

/* probe.resolve_kernel(spec) → functions of the kernel; raises the reason where there is none */
static int probe_resolve_kernel(lua_State *L)
{
    const char *spec = luaL_checkstring(L, 1);
    struct kernel_sites *self = core_new_object(L, sizeof *self, KERNEL_SITES);
    struct error err = {0};
    return kernel_resolve(spec, "/proc/kallsyms", self, &err) ? core_raise(L, &err) : 1;
}

/* probe.check_kernel(kind, trampoline): raises why functions of the kernel cannot be probed, or called by trampoline,
 * if they cannot */
static int probe_check_kernel(lua_State *L)
{
    struct error err = {0};
    const char *kind = luaL_checkstring(L, 1);
    int code = lua_toboolean(L, 2) ? kernel_check_trampoline(kind, &err) : kernel_check(kind, &err);
    return code ? core_raise(L, &err) : 0;
}

/* probe.attach_trampoline(program, function) → link; raises the reason */
static int probe_attach_trampoline(lua_State *L)
{
    int program = (int)luaL_checkinteger(L, 1);
    struct probe_link **self = link_push(L);
    struct error err = {0};
    return kernel_attach_trampoline(program, luaL_checkstring(L, 2), self, &err) ? core_raise(L, &err) : 1;
}

/* probe.argument_offsets() → { [0] = bytes into the context of a function's first argument, … }: those in registers */
static int probe_argument_offsets(lua_State *L)
{
    lua_newtable(L);
    for (unsigned i = 0; i < ARCH_MAX_ARGUMENTS && arch_argument(i) >= 0; i++)
        core_set_number_at(L, (int)i, arch_argument(i));
    return 1;
}

/* functions:list() → { { function, module, inside }, … }; module is nil for the kernel itself */
static int kernel_sites_list(lua_State *L)
{
    const struct kernel_sites *sites = luaL_checkudata(L, 1, KERNEL_SITES);
    lua_createtable(L, (int)sites->count, 0); /* list */
    for (size_t i = 0; i < sites->count; i++) {
        const struct kernel_site *site = &sites->sites[i];
        lua_createtable(L, 0, 3); /* list site */
        core_set_string(L, "function", site->function);
        core_set_string(L, "module", site->module);
        core_set_number(L, "inside", sites->inside);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

static int kernel_sites_gc(lua_State *L)
{
    kernel_sites_free(luaL_checkudata(L, 1, KERNEL_SITES));
    return 0;
}

/* functions:trampoline() → where functions return to while the kernel follows them, such as "0xffffffff81200000"; nil
 * where that is not known */
static int kernel_sites_trampoline(lua_State *L)
{
    const struct kernel_sites *sites = luaL_checkudata(L, 1, KERNEL_SITES);
    char address[24];
    snprintf(address, sizeof address, "0x%llx", (unsigned long long)sites->trampoline);
    return core_push_string(L, sites->trampoline ? address : NULL);
}

/* probe.attach_kernel("entry" | "return" | "entry by event", program, cookie, functions) → link, how many functions
 * were left out; raises the reason */
static int probe_attach_kernel(lua_State *L)
{
    static const char *const kinds[] = {"entry", "return", "entry by event", NULL};
    enum kernel_place place = (enum kernel_place)luaL_checkoption(L, 1, NULL, kinds);
    int program = (int)luaL_checkinteger(L, 2);
    uint64_t cookie = (uint64_t)luaL_checkinteger(L, 3);
    const struct kernel_sites *sites = luaL_checkudata(L, 4, KERNEL_SITES);
    struct probe_link **self = link_push(L);
    struct error err = {0};
    size_t left_out = 0;
    if (kernel_attach(program, cookie, sites, place, self, &left_out, &err))
        return core_raise(L, &err);
    lua_pushinteger(L, (lua_Integer)left_out);
    return 2;
}

/* probe.attach_event(program, event) → link; raises the reason. EVENT: see lua/event.h */
static int probe_attach_event(lua_State *L)
{
    int program = (int)luaL_checkinteger(L, 1);
    struct event event;
    lua_event(L, 2, &event);
    struct error err = {0};
    return event_attach(program, &event, lua_target(L), link_push(L), &err) ? core_raise(L, &err) : 1;
}

/* link:changed() → { { name, written }, … }: files in which it has probes, and whose names mean other files by now, or
 * that were WRITTEN to */
static int link_changed(lua_State *L)
{
    struct probe_link **self = luaL_checkudata(L, 1, LINK);
    enum stamp_change change = STAMP_SAME;
    const char *name;
    int count = 0;
    lua_newtable(L); /* list */
    for (size_t i = 0; *self && (name = probe_file(*self, i, &change)); i++) {
        if (change == STAMP_SAME)
            continue;
        lua_createtable(L, 0, 2); /* list file */
        core_set_string(L, "name", name);
        core_set_boolean(L, "written", change == STAMP_WRITTEN);
        lua_rawseti(L, -2, ++count);
    }
    return 1;
}

/* probe.watcher() → a descriptor for link:watch, readable once something may have changed; nil where there is none */
static int probe_watcher(lua_State *L)
{
    return core_push_natural(L, stamp_watcher());
}

/* probe.forget(watcher): it is not readable any more, and watches none of the files that have changed */
static int probe_forget(lua_State *L)
{
    stamp_forget((int)luaL_checkinteger(L, 1));
    return 0;
}

/* link:watch(watcher): has it watch the files that the link has probes in, until the next change of each */
static int link_watch(lua_State *L)
{
    struct probe_link **self = luaL_checkudata(L, 1, LINK);
    if (*self)
        probe_watch_files(*self, (int)luaL_checkinteger(L, 2));
    return 0;
}

/* link:refused() → { function, … } that the kernel puts no probe on */
static int link_refused(lua_State *L)
{
    struct probe_link **self = luaL_checkudata(L, 1, LINK);
    const char *name;
    lua_newtable(L);
    for (size_t i = 0; *self && (name = probe_refused(*self, i)); i++)
        core_set_string_at(L, (int)i + 1, name);
    return 1;
}

/*
 * probe.variable(spec) → { module =, bytes = (from there to its end; nil: not known), spec = (the same place without
 * fields) }; raises the reason where there is none
 */
static int probe_variable(lua_State *L)
{
    struct variable variable;
    struct error err = {0};
    if (variable_find(luaL_checkstring(L, 1), lua_target(L), &variable, &err))
        return core_raise(L, &err);
    lua_createtable(L, 0, 3); /* variable */
    core_set_string(L, "spec", variable.spec);
    core_set_string(L, "module", variable.module);
    if (variable.bytes)
        core_set_number(L, "bytes", variable.bytes);
    return 1;
}

static void push_variable(const char *module, const char *name, uint64_t bytes, const char *type, void *context)
{
    lua_State *L = context;   /* list */
    lua_createtable(L, 0, 4); /* list variable */
    core_set_string(L, "type", type);
    core_set_string(L, "module", module);
    core_set_string(L, "name", name);
    core_set_number(L, "bytes", bytes);
    lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
}

/* probe.variables(spec, types) → { { module, name, bytes (0: not known), type (nil: not known, or TYPES is false) },
 * … }, those of a binary that match; raises the reason */
static int probe_variables(lua_State *L)
{
    struct error err = {0};
    const char *spec = luaL_checkstring(L, 1);
    lua_newtable(L);
    return variables_list(spec, lua_target(L), lua_toboolean(L, 2), push_variable, L, &err) ? core_raise(L, &err) : 1;
}

static const char *const accesses[] = {"w", "rw", "x", NULL}; /* as enum watch_access has them */

/*
 * probe.watch(program, where, "w" | "rw" | "x", length) → link; raises the reason. WHERE: an address, a number, or the
 * spec of a variable, to be executed of a function
 */
static int probe_watch(lua_State *L)
{
    int program = (int)luaL_checkinteger(L, 1);
    bool named = lua_type(L, 2) == LUA_TSTRING;
    struct watch watch = {
        .spec = named ? lua_tostring(L, 2) : NULL,
        .address = named ? 0 : (uint64_t)luaL_checknumber(L, 2),
        .access = (enum watch_access)luaL_checkoption(L, 3, NULL, accesses),
        .length = (unsigned)luaL_checkinteger(L, 4),
    };
    struct probe_link **self = link_push(L);
    struct error err = {0};
    return watch_attach(program, &watch, lua_target(L), self, &err) ? core_raise(L, &err) : 1;
}

/*
 * probe.watch_trial("w" | "rw" | "x") → { verdict = "trusted" | "harmful" | "blind", programs, ended, signal, made,
 * seen }, as sys/watch_trial.h has them. Where there can be no trial: nil, the reason, and what it is of: "environment"
 * (UPLUA_WITHOUT), "kernel" (it gives this process no watchpoint), "trial".
 */
static int probe_watch_trial(lua_State *L)
{
    static const char *const verdicts[] = {"trusted", "harmful", "blind"}; /* as enum watch_verdict has them */
    struct watch_trial trial;
    enum watch_access access = (enum watch_access)luaL_checkoption(L, 1, NULL, accesses);
    int missing = feature_code(FEATURE_WATCHPOINT), code = missing ? missing : watch_trial(access, &trial);
    if (code) {
        lua_pushnil(L);
        lua_pushstring(L, missing == -ECANCELED ? "UPLUA_WITHOUT says so" : error_reason(code));
        lua_pushstring(L, missing == -ECANCELED ? "environment" : missing ? "kernel" : "trial");
        return 3;
    }
    lua_createtable(L, 0, 6); /* trial */
    core_set_string(L, "verdict", verdicts[watch_trial_verdict(&trial)]);
    core_set_number(L, "programs", trial.programs);
    core_set_number(L, "ended", trial.ended);
    core_set_number(L, "signal", trial.signal);
    core_set_number(L, "made", (lua_Number)trial.made);
    core_set_number(L, "seen", (lua_Number)trial.seen);
    return 1;
}

/*
 * probe.watch_everywhere(program, address: string of one native u64, "w" | "rw" | "x", length) → link; raises the
 * reason: on each CPU, in the kernel or in whatever process has something there
 */
static int probe_watch_everywhere(lua_State *L)
{
    size_t size;
    int program = (int)luaL_checkinteger(L, 1);
    const char *bytes = luaL_checklstring(L, 2, &size);
    struct watch watch = {
        .access = (enum watch_access)luaL_checkoption(L, 3, NULL, accesses),
        .length = (unsigned)luaL_checkinteger(L, 4),
        .everywhere = true,
    };
    luaL_argcheck(L, size == sizeof watch.address, 2, "not an address");
    memcpy(&watch.address, bytes, sizeof watch.address);
    struct probe_link **self = link_push(L);
    struct error err = {0};
    return watch_attach(program, &watch, lua_target(L), self, &err) ? core_raise(L, &err) : 1;
}

/* link:close(): detaches; closing twice is fine */
static int link_close(lua_State *L)
{
    struct probe_link **self = luaL_checkudata(L, 1, LINK);
    probe_detach(*self);
    *self = NULL;
    return 0;
}

/* probe.close({ link, … }): detaches them together, which takes as long as one */
static int probe_close(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    size_t count = lua_objlen(L, 1);
    struct probe_link **links = lua_newuserdata(L, (count + 1) * sizeof *links);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 1, (int)i + 1);
        struct probe_link **self = luaL_checkudata(L, -1, LINK);
        links[i] = *self;
        *self = NULL;
        lua_pop(L, 1);
    }
    probe_detach_all(links, count);
    return 0;
}

/* probe.static_command() → the name of the command's program where that is statically linked, or nil */
static int probe_static(lua_State *L)
{
    char *name = probe_static_command(lua_target(L));
    lua_pushstring(L, name);
    free(name);
    return 1;
}

/* probe.test_run(program, words): runs a handler of kind "testrun" once on the 12 WORDS, a string of 96 bytes */
static int probe_test_run(lua_State *L)
{
    int program = (int)luaL_checkinteger(L, 1);
    size_t length;
    const char *bytes = luaL_checklstring(L, 2, &length);
    uint64_t words[TEST_RUN_WORDS];
    luaL_argcheck(L, length == sizeof words, 2, "96 bytes are expected");
    memcpy(words, bytes, sizeof words);
    uint32_t result;
    int code = bpf_test_run(program, words, &result);
    return code < 0 ? luaL_error(L, "the kernel cannot run the handler for a test: %s", error_reason(code)) : 0;
}

/* probe.address(spec, pid) → address of the function in the process; raises the reason where there is none */
static int probe_address_lua(lua_State *L)
{
    const char *spec = luaL_checkstring(L, 1);
    pid_t pid = (pid_t)luaL_checkinteger(L, 2);
    uint64_t address = 0;
    struct error err = {0};
    if (probe_address(spec, pid, &address, &err))
        return core_raise(L, &err);
    return core_push_number(L, (lua_Number)address); /* of user space: below 2^53 */
}

/* probe.misses(program) → how often the kernel did not run it since another program was running on that CPU */
static int probe_misses(lua_State *L)
{
    return core_push_number(L, (lua_Number)bpf_program_misses((int)luaL_checkinteger(L, 1)));
}

int probe_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"resolve", sites_resolve_lua},
        {"attach", probe_attach_lua},
        {"attach_again", probe_attach_again_lua},
        {"attach_event", probe_attach_event},
        {"resolve_kernel", probe_resolve_kernel},
        {"check_kernel", probe_check_kernel},
        {"attach_kernel", probe_attach_kernel},
        {"misses", probe_misses},
        {"filters", probe_filters_lua},
        {"attach_trampoline", probe_attach_trampoline},
        {"argument_offsets", probe_argument_offsets},
        {"close", probe_close},
        {"static_command", probe_static},
        {"test_run", probe_test_run},
        {"address", probe_address_lua},
        {"variable", probe_variable},
        {"variables", probe_variables},
        {"watch", probe_watch},
        {"watch_everywhere", probe_watch_everywhere},
        {"watch_trial", probe_watch_trial},
        {"watcher", probe_watcher},
        {"forget", probe_forget},
        {NULL, NULL},
    };
    static const luaL_Reg kernel_methods[] = {{"list", kernel_sites_list},
                                              {"trampoline", kernel_sites_trampoline},
                                              {"claim", kernel_sites_claim},
                                              {NULL, NULL}};
    static const luaL_Reg link_methods[] = {{"close", link_close},     {"release", link_release},
                                            {"refused", link_refused}, {"changed", link_changed},
                                            {"watch", link_watch},     {NULL, NULL}};
    sites_open_lua(L);
    core_new_class(L, KERNEL_SITES, kernel_methods, kernel_sites_gc);
    core_new_class(L, LINK, link_methods, link_close);
    return core_functions(L, functions);
}
