/* core.file_watch: which files of a folder have been written or removed, for --watch. */
#include "sys/file_watch.h"

#include <lauxlib.h>
#include <string.h>

#include "lua/core.h"

/* open(folder) → a descriptor that is readable when a file there has been written; raises why it cannot be watched */
static int open_folder(lua_State *L)
{
    struct error err;
    int fd = file_watch_open(luaL_checkstring(L, 1), &err);
    return fd < 0 ? core_raise(L, &err) : core_push_number(L, fd);
}

/* Into the table on top of the stack L. */
static void add_name(const char *name, bool made, void *context)
{
    lua_State *L = context;
    lua_getfield(L, -1, name); /* names before */
    bool is_written = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "written") == 0;
    lua_pop(L, 1);
    core_set_string(L, name, made && !is_written ? "made" : "written");
}

/* names(fd) → { name = "made" or "written" }: what has come to be there since, and what was written, put there or
 * removed; nil where the kernel has dropped some names. And true where the folder has been renamed or removed */
static int changed_names(lua_State *L)
{
    bool gone;
    lua_newtable(L); /* names */
    if (!file_watch_read((int)luaL_checkinteger(L, 1), &gone, add_name, L)) {
        lua_pop(L, 1);
        lua_pushnil(L);
    }
    lua_pushboolean(L, gone);
    return 2;
}

int file_watch_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {{"open", open_folder}, {"names", changed_names}, {NULL, NULL}};
    return core_functions(L, functions);
}
