/* What handlers capture, fetched from Lua by lua/uplua/compile/capture.lua: the compiler's struct environment. */
#ifndef UPLUA_LUA_ENVIRONMENT_H
#define UPLUA_LUA_ENVIRONMENT_H

#include <lua.h>

#include "compile/compile.h"
#include "compile/front/bytecode.h"

/* State of an environment; its address is the environment's context. */
struct lua_environment {
    lua_State *L;
    int capture;               /* registry reference of the module uplua.compile.capture */
    struct compiler *compiler; /* whose arena the strings live in */
    struct bytecode **decoded; /* by handle */
    size_t decoded_count;
};

/* The environment over ENVIRONMENT; requires uplua.compile.capture, which may raise a Lua error. */
struct environment environment_open(struct lua_environment *environment, lua_State *L);
void environment_close(struct lua_environment *environment);
/* For struct compile_options: line LINE of FILE. */
const char *environment_source_line(void *context, const char *file, int line);

#endif
