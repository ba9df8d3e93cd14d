/* What handlers were compiled to, as Lua tables: for --explain. */
#pragma once

#include <lua.h>

#include "compile/compile.h"

/*
 * Pushes { programs = { PROGRAM, … }, maps = { { name, type (BPF_MAP_TYPE_*), key, value (bytes), max }, … } }.
 * A PROGRAM is
 *   { handler = 1 … (of HANDLERS), part = "entry" (of a return handler whose entry has a program of its own) or nil,
 *     session = boolean, stack = bytes, count = instructions,
 *     lines = { { at = 0, file = "a.lua", line = 12, text = "…" }, … },
 *     instructions = { { at = 0, text = "r6 = r1" }, … } }
 */
void explain_push(lua_State *L, const struct object *object, const struct handler *handlers, size_t count);
