/* cgroup: cgroups by a pattern. */
#include <lauxlib.h>

#include "lua/core.h"
#include "probe/target/cgroup.h"

#define CGROUPS "uplua.cgroups"

CORE_HANDLE(cgroups, CGROUPS, cgroups_free)

/* cgroup.open(pattern) → cgroups; raises the reason */
static int cgroup_open_pattern(lua_State *L)
{
    const char *pattern = luaL_checkstring(L, 1);
    struct cgroups **self = core_new_object(L, sizeof *self, CGROUPS); /* self */
    struct error err = {0};
    return cgroups_open(pattern, self, &err) ? core_raise(L, &err) : 1;
}

/* cgroups:level() → how far below the root they are */
CORE_NUMBER_METHOD(cgroups_level, cgroups)

/* cgroups:fd() → a descriptor that is readable when list() may have changed */
CORE_NUMBER_METHOD(cgroups_fd, cgroups)

static int add(uint64_t id, const char *path, void *context)
{
    lua_State *L = context;
    lua_pushnumber(L, (lua_Number)id);
    lua_pushstring(L, path);
    lua_rawset(L, -3);
    return 0;
}

/* cgroups:list() → { [id] = path, … } */
static int cgroup_list(lua_State *L)
{
    lua_newtable(L);
    int code = cgroups_each(check_cgroups(L), add, L);
    return code ? luaL_error(L, "--cgroup: cannot read the hierarchy: %s", error_reason(code)) : 1;
}

int cgroup_open_lua(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"level", cgroups_level_lua}, {"fd", cgroups_fd_lua}, {"list", cgroup_list}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"open", cgroup_open_pattern}, {NULL, NULL}};
    core_new_class(L, CGROUPS, methods, close_cgroups);
    return core_functions(L, functions);
}
