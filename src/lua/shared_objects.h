/* Shared objects (lua/uplua/objects) between Lua and the compiler. */
#pragma once

#include <lua.h>

#include "compile/compile.h"

/*
 * Reads compiler:add_object(kind, max, buckets, key, value, paced, ordered, alone, advice): the next shared object, in
 * the order of uplua.objects.object.all(). BUCKETS: those of an lhist or hdr; KEY, VALUE: layouts that are declared;
 * PACED: a ring is read only now and then; ORDERED, ALONE: as of struct shared; ADVICE: what to do where it is full.
 */
void shared_objects_add(lua_State *L, struct compiler *compiler);

/* Reads compiler:given(object, key, value, file, line): an entry that the script has written there before the map
 * exists. Raises what it contradicts. */
void shared_objects_given(lua_State *L, struct compiler *compiler);

/* Pushes object.bind's description of each object that has just been loaded, by its id; and of some that are used
 * again. */
void shared_objects_push(lua_State *L, struct compiler *compiler, const struct loaded *loaded);
