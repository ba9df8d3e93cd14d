/* cgroup: cgroups by a pattern. */
#include <lauxlib.h>
#include <string.h>

#include "lua/core.h"
#include "probe/target/cgroup.h"

#define CGROUPS "uplua.cgroups"

static struct cgroups *check(lua_State *L)
{
    return *(struct cgroups **)luaL_checkudata(L, 1, CGROUPS);
}

/* cgroup.open(pattern) → cgroups; raises the reason */
static int cgroup_open_pattern(lua_State *L)
{
    const char *pattern = luaL_checkstring(L, 1);
    struct cgroups **self = core_new_object(L, sizeof *self, CGROUPS); /* self */
    struct error err = {0};
    return cgroups_open(pattern, self, &err) ? core_raise(L, &err) : 1;
}

static int cgroup_gc(lua_State *L)
{
    struct cgroups **self = luaL_checkudata(L, 1, CGROUPS);
    cgroups_free(*self);
    *self = NULL;
    return 0;
}

/* cgroups:level() → how far below the root they are */
static int cgroup_level(lua_State *L)
{
    lua_pushinteger(L, cgroups_level(check(L)));
    return 1;
}

/* cgroups:fd() → a descriptor that is readable when list() may have changed */
static int cgroup_fd(lua_State *L)
{
    lua_pushinteger(L, cgroups_fd(check(L)));
    return 1;
}

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
    int code = cgroups_each(check(L), add, L);
    return code ? luaL_error(L, "--cgroup: cannot read the hierarchy: %s", error_reason(code)) : 1;
}

int cgroup_open_lua(lua_State *L)
{
    static const luaL_Reg methods[] = {{"level", cgroup_level}, {"fd", cgroup_fd}, {"list", cgroup_list}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"open", cgroup_open_pattern}, {NULL, NULL}};
    core_new_class(L, CGROUPS, methods, cgroup_gc);
    return core_functions(L, functions);
}
