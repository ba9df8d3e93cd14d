/* C types, asked of lua/uplua/compile/ctype.lua: the compiler's struct ctype_source over a struct lua_host. */
#pragma once

#include "compile/context/ctype.h"

extern const struct ctype_source ctype_source_lua;
