/* Claims: methods of sites and of the kernel's functions, for the file that has these classes. */
#pragma once

#include <lua.h>

/*
 * sites:claim(taken, owner, what), functions:claim(…) → how many places are left: those that another owner has in the
 * table TAKEN, by name, are dropped, and the others are OWNER's from now on. OWNER: a table. WHAT: begins the names
 */
int sites_claim(lua_State *L);
int kernel_sites_claim(lua_State *L);
