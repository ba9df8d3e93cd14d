/* Types of the compiler as the script side's layouts (doc/internals.md), and Lua values as types. */
#pragma once

#include <lua.h>

#include "compile/context/type.h"

/* Pushes the LAYOUT of TYPE, whose records have been laid out. */
void layout_push(lua_State *L, struct type type);
/* The type that can hold the Lua value at INDEX (a number, string, boolean, or table of such); raises an error for
 * others. */
struct type layout_type_of(lua_State *L, int index, struct arena *arena);

/* The type of the LAYOUT at INDEX, which the script has declared. */
struct type layout_read(lua_State *L, int index, struct arena *arena);
