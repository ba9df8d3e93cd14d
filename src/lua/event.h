/* Events of perf as Lua describes them, for the C files of src/lua that attach them. */
#pragma once

#include <lua.h>

#include "probe/attach/perf_event.h"

/*
 * Fills EVENT from the table at INDEX: { type =, config =, config1 =, config2 =, period = or hertz =, no_user =,
 * no_kernel =, no_idle =, once =, cpus = { 0, 2 } }. Configurations are numbers or hexadecimal strings, as not all of
 * them fit a number; the others are as in perf_event_open(2).
 */
void lua_event(lua_State *L, int index, struct event *event);
