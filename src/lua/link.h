/* What is attached, as Lua sees it: closed by link:close(), core.probe.close{…} or the collector. */
#pragma once

#include <lua.h>

#include "probe/probe.h"

/* Pushes a link that is attached to nothing yet; what it is to be goes into the place returned. */
struct probe_link **link_push(lua_State *L);
