/* The compiler's options, read from the description of a setup (lua/uplua/probe/load.lua). */
#pragma once

#include <lua.h>

#include "compile/compile.h"
#include "lua/host.h"

/*
 * The options of the description at index 2: { pids, tids, comms, cpus, except, followed, cgroups, cgroup_level,
 * births, who is traced; trampoline, the address as text, where the kernel has functions return to; returns, true if
 * there are return handlers; explained, true if the code is only looked at }. What they point to is in the compiler's
 * arena.
 */
struct compile_options compile_options_read(lua_State *L, struct lua_host *host);
