/* Claims: which probe of a list has a place that several of its specs name (lua/uplua/probe/claims.lua). */
#include "lua/claims.h"

#include <inttypes.h>
#include <lauxlib.h>
#include <stdio.h>

#include "lua/core.h"
#include "lua/sites.h"
#include "probe/attach/kernel.h"

enum { TAKEN = 2, OWNER = 3, WHAT = 4 };

/* An array of COUNT booleans, which it pushes. */
static bool *push_kept(lua_State *L, size_t count)
{
    luaL_checktype(L, TAKEN, LUA_TTABLE);
    luaL_checktype(L, OWNER, LUA_TTABLE);
    luaL_checkstring(L, WHAT);
    return lua_newuserdata(L, (count + 1) * sizeof(bool));
}

/* Pops the name of a place. True if it is the owner's, or nobody's, and then the owner's from now on. */
static bool claim(lua_State *L)
{
    lua_pushvalue(L, -1);
    lua_rawget(L, TAKEN); /* name owner */
    bool is_free = lua_isnil(L, -1), own = is_free || lua_rawequal(L, -1, OWNER);
    lua_pop(L, 1); /* name */
    lua_pushvalue(L, OWNER);
    if (is_free)
        lua_rawset(L, TAKEN);
    else
        lua_pop(L, 2);
    return own;
}

int sites_claim(lua_State *L)
{
    struct sites *sites = luaL_checkudata(L, 1, SITES);
    bool *kept = push_kept(L, sites->count);
    for (size_t i = 0; i < sites->count; i++) {
        const struct site *site = &sites->items[i];
        const struct stamp *file = &site->file; /* an inode's number is used again */
        char place[160];
        snprintf(place, sizeof place, "%" PRIx64 ":%" PRIx64 " %" PRIx64 " %" PRIx64 ".%lx +%" PRIx64 "%s",
                 (uint64_t)file->device, (uint64_t)file->inode, (uint64_t)file->size, (uint64_t)file->modified.tv_sec,
                 (unsigned long)file->modified.tv_nsec, site->offset - site->slid, site->is_exit ? " exit" : "");
        lua_pushfstring(L, "%s %s", lua_tostring(L, WHAT), place);
        kept[i] = claim(L);
    }
    probe_sites_keep(sites, kept);
    return core_push_number(L, (lua_Integer)sites->count);
}

int kernel_sites_claim(lua_State *L)
{
    struct kernel_sites *sites = luaL_checkudata(L, 1, KERNEL_SITES);
    bool *kept = push_kept(L, sites->count);
    for (size_t i = 0; i < sites->count; i++) {
        const struct kernel_site *site = &sites->sites[i];
        char place[48];
        snprintf(place, sizeof place, "%" PRIx64 "+%" PRIx64, site->address, sites->inside);
        lua_pushfstring(L, "%s %s:%s %s", lua_tostring(L, WHAT), site->module ? site->module : "", site->function,
                        place);
        kept[i] = claim(L);
    }
    kernel_sites_keep(sites, kept);
    return core_push_number(L, (lua_Integer)sites->count);
}
