/* Handlers, from the tables in which a setup describes them. */
#pragma once

#include <lua.h>
#include <stddef.h>

#include "base/arena.h"
#include "compile/compile.h"

/*
 * The list at INDEX, of tables { kind, probe, symbol, names, at_entry, slid, value_bits, result_bits, raw, user_memory,
 * handle, arguments } (describe() of lua/uplua/probe/handler.lua), as *COUNT handlers in ARENA. A kind that there is
 * not is a Lua error.
 */
struct handler *handlers_read(lua_State *L, int index, struct arena *arena, size_t *count);
