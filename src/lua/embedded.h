/* The modules that are part of uplua's own file. */
#pragma once

#include <lua.h>
#include <stddef.h>

/* One of Lua, as `luajit -b` compiles it, or one of C: the other pointer is NULL. */
struct embedded_module {
    const char *name;
    const char *bytecode;
    lua_CFunction open;
};

struct embedded {
    const struct embedded_module *modules; /* sorted by name */
    size_t count;
};

/* What `make` has linked into this file (tools/embed.lua). */
extern const struct embedded embedded_modules;

/* Has `require` find the modules of EMBEDDED, which stays, before all others. Raises a Lua error for want of memory. */
void embedded_open(lua_State *L, const struct embedded *embedded);
