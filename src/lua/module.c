/* module: which of the target's programs and libraries define functions. */
#include <lauxlib.h>

#include "lua/core.h"
#include "lua/target.h"
#include "probe/probe.h"

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

int module_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"defining", module_defining},
        {"file_defines", module_file_defines},
        {"offsets", module_offsets},
        {NULL, NULL},
    };
    return core_functions(L, functions);
}
