/* What handlers capture, fetched from Lua by lua/uplua/compile/capture.lua: the compiler's struct host. */
#pragma once

#include <lua.h>

#include "compile/compile.h"
#include "compile/front/bytecode.h"

/* The state of a host; its address is the host's context. */
struct lua_host {
    lua_State *L;
    int capture;               /* registry reference of the module uplua.compile.capture */
    struct compiler *compiler; /* whose arena the strings live in */
    struct bytecode **decoded; /* by handle: those of the compilation */
    size_t decoded_count;
};

/* A host over HOST; requires uplua.compile.capture, which may raise a Lua error. */
struct host host_open(struct lua_host *host, lua_State *L);
/* The compilation has ended: forgets the functions that were decoded for it. */
void host_forget(struct lua_host *host);
void host_close(struct lua_host *host);
/* For struct compile_options: line LINE of FILE. */
const char *host_source_line(void *context, const char *file, int line);
