/* Sites of probes as the object that core.probe.attach takes, for the C files of src/lua that find some. */
#pragma once

#include <lua.h>

#include "probe/probe.h"

/* Classes of userdata that begin with a struct sites, and with a struct kernel_sites. */
#define SITES "uplua.sites"
#define KERNEL_SITES "uplua.kernel_sites"

/* Pushes an object that owns the COUNT SITES from then on: both are cleared. May raise that there is no memory, and
 * then owns nothing. */
void sites_push(lua_State *L, struct site **sites, size_t *count);

/* The sites of the object at INDEX, which keeps them; NULL where there is none. */
struct sites *sites_at(lua_State *L, int index);
/* How far all of SITES have slid; -1: some have slid further than others. */
int sites_slid(const struct sites *sites);

/* Registers the class. */
void sites_open_lua(lua_State *L);

/*
 * probe.resolve(spec | { spec, … } [, "off" | "exact" | "lossy" [, returns [, pid]]]) → sites, which slide as told; nil
 * and a text where the target has not loaded such a library (yet); raises the reason where there is none. PID: as if
 * that were the target. RETURNS: true, or one of the ways
 */
int sites_resolve_lua(lua_State *L);
