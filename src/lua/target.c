/* core.target: whom a run traces. Each run has a target (new), and all functions mean that of the current run (use). */
#include "lua/target.h"

#include <errno.h>
#include <lauxlib.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lua/core.h"
#include "probe/module/path_search.h"
#include "probe/target/command.h"
#include "probe/target/process.h"
#include "probe/target/threads.h"
#include "sys/pidfd.h"
#include "sys/procstat.h"

#define TARGET "uplua.target"

static const char current[] = "uplua.target.current"; /* in the registry */

struct target *lua_target(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, current); /* target */
    struct target *target = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return target;
}

/* new() → a target: the whole machine */
static int lua_target_new(lua_State *L)
{
    target_init(core_new_object(L, sizeof(struct target), TARGET));
    return 1;
}

/* use(target): from now on all functions of core mean this one */
static int lua_target_use(lua_State *L)
{
    luaL_checkudata(L, 1, TARGET);
    lua_settop(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, current);
    return 0;
}

static int attach(lua_State *L,
                  int (*attach_all)(struct target *target, const pid_t *pids, size_t count, struct error *err))
{
    struct target *target = lua_target(L);
    size_t count;
    const pid_t *pids = core_pids(L, 1, &count);
    struct error err;
    target_close(target);
    return attach_all(target, pids, count, &err) < 0 ? core_raise(L, &err) : 0;
}

/* attach({ pid, ... }) */
static int lua_target_attach(lua_State *L)
{
    return attach(L, target_attach);
}

/* attach_threads({ tid, ... }) */
static int lua_target_attach_threads(lua_State *L)
{
    return attach(L, target_attach_threads);
}

/* follow(): children are traced, too */
static int lua_target_follow(lua_State *L)
{
    lua_target(L)->follow = true;
    return 0;
}

static int add_parent(pid_t pid, pid_t parent, void *context)
{
    lua_State *L = context;
    core_set_number_at(L, pid, parent);
    return 0;
}

/* parents() → { [pid] = parent's PID, … }: of all processes */
static int lua_target_parents(lua_State *L)
{
    lua_newtable(L);
    processes_each(add_parent, L);
    return 1;
}

/* watch(pid) → a descriptor that is readable once the process has exited, until system.close(fd); nil where that
 * is so already */
static int lua_target_watch(lua_State *L)
{
    int fd = pidfd_open_process((pid_t)luaL_checkinteger(L, 1));
    struct pollfd now = {.fd = fd, .events = POLLIN};
    if (fd < 0 || poll(&now, 1, 0) <= 0)
        return core_push_natural(L, fd);
    close(fd); /* nobody may have waited for it yet */
    return 0;
}

/* start({ word, ... }): the command waits until release() */
static int lua_target_start(lua_State *L)
{
    struct target *target = lua_target(L);
    size_t count;
    const char **words = core_strings(L, 1, &count);
    luaL_argcheck(L, count > 0, 1, "a command expected");
    struct error err;
    target_close(target);
    return target_start(target, (char **)words, &err) < 0 ? core_raise(L, &err) : 0;
}

/* set_apart(): neither Ctrl-C at the terminal nor its input reach the command, which waits still */
static int lua_target_set_apart(lua_State *L)
{
    struct target *target = lua_target(L);
    struct error err;
    luaL_argcheck(L, target->command, 1, "no command");
    return target_set_apart(target, &err) < 0 ? core_raise(L, &err) : 0;
}

/* release(): the command begins */
static int lua_target_release(lua_State *L)
{
    struct error err;
    return target_release(lua_target(L), &err) < 0 ? core_raise(L, &err) : 0;
}

/* hold(must): the command begins and stands at its first instruction until go(); where that is not to be had it goes
 * on, or raises it if it MUST */
static int lua_target_hold(lua_State *L)
{
    struct error err;
    return target_release_held(lua_target(L), lua_toboolean(L, 1), &err) < 0 ? core_raise(L, &err) : 0;
}

static int lua_target_go(lua_State *L)
{
    target_continue(lua_target(L));
    return 0;
}

/* waits() → whether there is a command that has not begun */
static int lua_target_waits(lua_State *L)
{
    return core_push_boolean(L, lua_target(L)->release_fd >= 0);
}

static int push_ids(lua_State *L, const pid_t *ids, size_t count)
{
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++)
        core_set_number_at(L, (int)i + 1, ids[i]);
    return 1;
}

/* pids() → { pid, ... } */
static int lua_target_pids(lua_State *L)
{
    const struct target *target = lua_target(L);
    return push_ids(L, target->pids, target->count);
}

/* tids() → { tid, ... }: the only threads that are traced; none: all */
static int lua_target_tids(lua_State *L)
{
    const struct target *target = lua_target(L);
    return push_ids(L, target->tids, target->tid_count);
}

/* threads() → { tid, ... }: those that the target's processes have now, with its children's where these are traced; of
 * all processes but this one where there is no target. Raises what /proc refuses. */
static int lua_target_threads(lua_State *L)
{
    const struct target *target = lua_target(L);
    struct threads threads;
    bool all = !target->count && !target->tid_count;
    int code = all ? threads_list_all(getpid(), &threads) : threads_list(target, target->follow, &threads);
    if (code)
        return luaL_error(L, "cannot list the threads: %s", strerror(-code));
    push_ids(L, threads.ids, threads.count);
    threads_free(&threads);
    return 1;
}

/* births() → { ns, ... } of the threads, where there are some, else of the processes: see procstat_birth */
static int lua_target_births(lua_State *L)
{
    const struct target *target = lua_target(L);
    size_t count = target->tid_count ? target->tid_count : target->count;
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++)
        core_set_number_at(L, (int)i + 1, (lua_Number)target->births[i]);
    return 1;
}

/* birth(pid) → the same of any process; nil where it is gone */
static int lua_target_birth(lua_State *L)
{
    uint64_t birth;
    if (!procstat_birth((pid_t)luaL_checkinteger(L, 1), &birth))
        return 0;
    return core_push_number(L, (lua_Number)birth);
}

/* pidfds() → { fd, ... }, each readable once its process, or its thread, has exited */
static int lua_target_pidfds(lua_State *L)
{
    const struct target *target = lua_target(L);
    lua_newtable(L);
    int fd;
    for (size_t i = 0; (fd = target_pidfd(target, i)) >= 0; i++)
        core_set_number_at(L, (int)i + 1, fd);
    return 1;
}

/* command() → path of the command that the run started, or nil */
static int lua_target_command(lua_State *L)
{
    return core_push_string(L, lua_target(L)->program);
}

/* find(name) → path of the executable file that NAME stands for, by $PATH where it has no slash; nil where there is
 * none */
static int lua_target_find(lua_State *L)
{
    char *path;
    struct error err;
    if (program_find(luaL_checkstring(L, 1), &path, &err))
        return 0;
    lua_pushstring(L, path);
    free(path);
    return 1;
}

/* status() → exit status of the command, or nil while it runs and where there is none */
static int lua_target_status(lua_State *L)
{
    return core_push_natural(L, target_status(lua_target(L)));
}

/* ended_by() → the signal that has ended the command or one of the processes; nil where none has, or it is not known */
static int lua_target_ended_by(lua_State *L)
{
    int signal = target_ended_by(lua_target(L));
    return core_push_natural(L, signal ? signal : -1);
}

/* signal(number): sends it to the command */
static int lua_target_signal(lua_State *L)
{
    const struct target *target = lua_target(L);
    int result = target->command ? pidfd_signal(target_pidfd(target, 0), (int)luaL_checkinteger(L, 1)) : -ESRCH;
    return core_push_boolean(L, result == 0);
}

/* close(): ends a command that was not released */
static int lua_target_close(lua_State *L)
{
    target_close(lua_target(L));
    return 0;
}

static int lua_target_collect(lua_State *L)
{
    target_close(lua_touserdata(L, 1));
    return 0;
}

int target_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"new", lua_target_new},
        {"use", lua_target_use},
        {"attach", lua_target_attach},
        {"start", lua_target_start},
        {"set_apart", lua_target_set_apart},
        {"release", lua_target_release},
        {"pids", lua_target_pids},
        {"pidfds", lua_target_pidfds},
        {"command", lua_target_command},
        {"status", lua_target_status},
        {"ended_by", lua_target_ended_by},
        {"signal", lua_target_signal},
        {"close", lua_target_close},
        {"attach_threads", lua_target_attach_threads},
        {"tids", lua_target_tids},
        {"threads", lua_target_threads},
        {"births", lua_target_births},
        {"birth", lua_target_birth},
        {"follow", lua_target_follow},
        {"parents", lua_target_parents},
        {"watch", lua_target_watch},
        {"find", lua_target_find},
        {"hold", lua_target_hold},
        {"go", lua_target_go},
        {"waits", lua_target_waits},
        {NULL, NULL},
    };
    static const luaL_Reg methods[] = {{NULL, NULL}};
    core_new_class(L, TARGET, methods, lua_target_collect);
    lua_target_new(L); /* target: until there is a run */
    lua_setfield(L, LUA_REGISTRYINDEX, current);

    return core_functions(L, functions);
}
