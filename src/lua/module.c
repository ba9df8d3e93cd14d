/* module: which of the target's programs and libraries define functions. */
#include <lauxlib.h>

#include "lua/core.h"
#include "lua/target.h"
#include "probe/probe.h"
#include "probe/spec/calls_within.h"
#include "probe/spec/complete.h"

/* module.defining({ function, … }) → { path, … } of the target's modules that define one themselves; raises the
 * reason */
static int module_defining(lua_State *L)
{
    struct error err = {0};
    char **paths = NULL;
    size_t name_count, count = 0;
    const char **names = core_strings(L, 1, &name_count);
    if (probe_modules_defining(names, name_count, lua_target(L), &paths, &count, &err))
        return core_raise(L, &err);
    return core_push_strings(L, paths, count);
}

/* module.file_defines(path, { function, … }) → whether the program or library at PATH defines one of them itself */
static int module_file_defines(lua_State *L)
{
    size_t count;
    const char **names = core_strings(L, 2, &count);
    return core_push_boolean(L, probe_file_defines(luaL_checkstring(L, 1), names, count));
}

/*
 * module.offsets(path, { function, … }) → { function = offset }: where in its file each of those functions begins that
 * the module PATH of the target defines; raises the reason
 */
static int module_offsets(lua_State *L)
{
    struct error err = {0};
    size_t count;
    const char *path = luaL_checkstring(L, 1);
    const char **names = core_strings(L, 2, &count);
    int64_t *offsets = lua_newuserdata(L, (count + 1) * sizeof *offsets);
    if (probe_offsets(path, names, count, lua_target(L), offsets, &err))
        return core_raise(L, &err);
    lua_newtable(L);
    for (size_t i = 0; i < count; i++)
        if (offsets[i] >= 0)
            core_set_number(L, names[i], (lua_Number)offsets[i]); /* of a file: below 2^53 */
    return 1;
}

/*
 * module.calls_within(path, { offset, … }, { name, … }) → { what, … }, { address, … }: what those functions of the
 * module PATH of the target that begin there in its file call of each other, and of NAMES in other files: "none",
 * "pointers" (none, but what variables point to), "others" or "unclear"; and where some of "none" and "pointers" do so
 * far away (src/probe/spec/calls_within.h). Raises the reason.
 */
static int module_calls_within(lua_State *L)
{
    static const char *const kinds[] = {
        [CALLS_NONE] = "none", [CALLS_POINTERS] = "pointers", [CALLS_OTHERS] = "others", [CALLS_UNCLEAR] = "unclear"};
    struct error err = {0};
    struct calls_found found;
    const char *path = luaL_checkstring(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    struct calls_wanted wanted = {.count = lua_objlen(L, 2)};
    uint64_t *offsets = lua_newuserdata(L, (wanted.count + 1) * sizeof *offsets);
    found.calls = lua_newuserdata(L, (wanted.count + 1) * sizeof *found.calls);
    for (size_t i = 0; i < wanted.count; i++) {
        lua_rawgeti(L, 2, (int)i + 1);
        offsets[i] = (uint64_t)luaL_checknumber(L, -1);
        lua_pop(L, 1);
    }
    wanted.offsets = offsets;
    wanted.names = core_strings(L, 3, &wanted.name_count);
    if (calls_within(path, &wanted, lua_target(L), &found, &err))
        return core_raise(L, &err);
    lua_createtable(L, (int)wanted.count, 0);
    for (size_t i = 0; i < wanted.count; i++) {
        lua_pushstring(L, kinds[found.calls[i]]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_createtable(L, (int)found.far_count, 0);
    for (size_t i = 0; i < found.far_count; i++) {
        lua_pushnumber(L, (lua_Number)found.far[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 2;
}

/* Pushes { name, … } of COMPLETIONS, each behind BEFORE, and frees them. */
static int push_completions(lua_State *L, struct completions *completions, const char *before)
{
    lua_createtable(L, (int)completions->count, 0); /* list */
    for (size_t i = 0; i < completions->count; i++) {
        lua_pushfstring(L, "%s%s", before, completions->names[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    completions_free(completions);
    return 1;
}

/* module.functions(binary, prefix, brief or nil) → "BINARY:NAME" of its functions that begin so, sorted, or, if BRIEF
 * and that is more, what all of them begin with alone; raises the reason */
static int module_functions(lua_State *L)
{
    struct error err = {0};
    struct completions found;
    const char *binary = luaL_checkstring(L, 1);
    if (complete_functions(binary, luaL_checkstring(L, 2), lua_toboolean(L, 3), lua_target(L), &found, &err))
        return core_raise(L, &err);
    return push_completions(L, &found, lua_pushfstring(L, "%s:", binary));
}

/* module.names(prefix) → the names of the target's programs and libraries that begin so, sorted; raises the reason */
static int module_names(lua_State *L)
{
    struct error err = {0};
    struct completions found;
    if (complete_modules(luaL_checkstring(L, 1), lua_target(L), &found, &err))
        return core_raise(L, &err);
    return push_completions(L, &found, "");
}

int module_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"defining", module_defining},
        {"file_defines", module_file_defines},
        {"offsets", module_offsets},
        {"calls_within", module_calls_within},
        {"functions", module_functions},
        {"names", module_names},
        {NULL, NULL},
    };
    return core_functions(L, functions);
}
