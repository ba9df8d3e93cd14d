/* The current run's target, for the C files of src/lua that need it. */
#pragma once

#include <lua.h>

#include "probe/target.h"

/* The target of the current run (core.target.use): without processes until core.target.attach or .start was called.
 * Owned by L. */
struct target *lua_target(lua_State *L);
