/* The one Lua state of the process. */
#include "lua/state.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

#include "lua/core.h"
#include "sys/interrupt.h"

/* For the signal handler, which has no argument for it. A process has one state, whatever its runs. */
static lua_State *the_state;

static void raise_interrupted(lua_State *L, lua_Debug *activation)
{
    (void)activation;
    lua_sethook(L, NULL, 0, 0);
    lua_pushliteral(L, "interrupted"); /* without a place: failure.trace adds the script's */
    lua_error(L);
}

/*
 * Called from a signal handler while Lua code does not return. lua_sethook may be called there (luajit.c does the
 * same). Interpreted code sees the hook at its next instruction; compiled traces never do, and are left to the second
 * signal.
 */
static void interrupt_lua(void)
{
    lua_sethook(the_state, raise_interrupted, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

/* What returns by itself within this time is not ended: a callback that was running as Ctrl-C dropped a line. */
static const int64_t grace_ns = 50 * 1000 * 1000;

/*
 * The same in code of the user's alone, and until the signal is forgotten, whatever catches it: what uplua itself runs
 * has an end, and may not be left in the middle. Its chunks are named "uplua.lua" and "uplua/…" (uplua.base.failure).
 */
static void raise_in_script(lua_State *L, lua_Debug *activation)
{
    if (!lua_getinfo(L, "S", activation) || *activation->what == 'C' || !strncmp(activation->source, "@uplua/", 7) ||
        !strncmp(activation->source, "@uplua.", 7) || interrupt_age() < grace_ns)
        return;
    lua_pushliteral(L, "interrupted");
    lua_error(L);
}

static void interrupt_script(void)
{
    lua_sethook(the_state, raise_in_script, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

void state_interrupt_at_once(lua_State *L, bool whether)
{
    interrupt_at_once(whether ? interrupt_script : NULL);
    state_clear_hook(L);
}

void state_clear_hook(lua_State *L)
{
    lua_Hook hook = lua_gethook(L);
    if (hook == raise_interrupted || hook == raise_in_script)
        lua_sethook(L, NULL, 0, 0);
}

/* The libraries and what C adds; protected, since all of it allocates. */
static int open_libraries(lua_State *L)
{
    lua_pushboolean(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV"); /* LuaJIT's package library then ignores LUA_PATH and LUA_CPATH */
    lua_gc(L, LUA_GCSTOP, 0);
    luaL_openlibs(L);
    lua_gc(L, LUA_GCRESTART, -1);

    lua_getglobal(L, "package");    /* package */
    lua_getfield(L, -1, "preload"); /* package preload */
    lua_pushcfunction(L, core_open_lua);
    lua_setfield(L, -2, "uplua.core");
    return 0;
}

lua_State *state_new(struct error *err)
{
    lua_State *L = luaL_newstate();
    if (!L) {
        error_set(err, -ENOMEM, "cannot make a Lua state: out of memory");
        return NULL;
    }
    the_state = L;
    if (interrupt_open(interrupt_lua, err) < 0)
        goto fail;
    if (lua_cpcall(L, open_libraries, NULL) != 0) {
        const char *text = lua_tostring(L, -1);
        error_set(err, -ENOMEM, "cannot open the Lua libraries: %s", text ? text : "unknown error");
        goto fail;
    }
    return L;
fail:
    lua_close(L);
    return NULL;
}

struct command_line {
    const struct embedded *embedded;
    int argc;
    char **argv;
    int status;
};

static int run_main(lua_State *L)
{
    struct command_line *line = lua_touserdata(L, 1);
    embedded_open(L, line->embedded);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "uplua.run.main");
    lua_call(L, 1, 1); /* line main */
    lua_createtable(L, line->argc, 0);
    for (int i = 0; i < line->argc; i++) {
        core_set_string_at(L, i, line->argv[i]);
    }                  /* line main arguments */
    lua_call(L, 1, 1); /* line status */
    line->status = (int)lua_tointeger(L, -1);
    return 0;
}

int state_run(lua_State *L, const struct embedded *embedded, int argc, char *argv[])
{
    struct command_line line = {.embedded = embedded, .argc = argc, .argv = argv};
    if (lua_cpcall(L, run_main, &line) == 0)
        return line.status;
    const char *text = lua_tostring(L, -1);
    fprintf(stderr, "uplua: %s\n", text ? text : "an error without a message");
    return 1;
}

void state_free(lua_State *L)
{
    if (L)
        lua_close(L);
}
