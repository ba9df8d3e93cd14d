/* core.system: where things are, for the search of scripts and for the prompt. */
#include <dirent.h>
#include <errno.h>
#include <lauxlib.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lua/core.h"
#include "sys/capability.h"
#include "sys/feature.h"
#include "sys/namespace.h"
#include "sys/notify.h"
#include "sys/output.h"
#include "sys/path.h"
#include "sys/terminal.h"
#include "sys/trust.h"

enum { ENOTSUPP_KERNEL = 524 }; /* ENOTSUPP, the kernel's own */

/* Pushes TEXT (malloc'd, may be NULL) and frees it. */
static int push_owned(lua_State *L, char *text)
{
    lua_pushstring(L, text); /* nil for NULL; the only throw is for lack of memory, which ends the process */
    free(text);
    return 1;
}

/* executable() → its path */
static int system_executable(lua_State *L)
{
    return push_owned(L, path_executable());
}

/* real_path(path) → path without links, or nil */
static int system_real_path(lua_State *L)
{
    return push_owned(L, path_real(luaL_checkstring(L, 1)));
}

/* link_target(path) → what the link says, or nil where that is none */
static int system_link_target(lua_State *L)
{
    return push_owned(L, path_link_target(luaL_checkstring(L, 1)));
}

/* is_file(path) → true, unless it is missing or a folder */
static int system_is_file(lua_State *L)
{
    return core_push_boolean(L, path_is_file(luaL_checkstring(L, 1)));
}

/* trust_problem(path, [sudo]) → who else can replace the file, as sys/trust.h says; nil if nobody, or if this is not
 * root */
static int system_trust_problem(lua_State *L)
{
    return push_owned(L, trust_problem(luaL_checkstring(L, 1), lua_toboolean(L, 2)));
}

/* sudo_home() → the home of the user that sudo was called by, nil where root was not made so by sudo */
static int system_sudo_home(lua_State *L)
{
    uid_t caller = geteuid() == 0 ? trust_sudo_user() : 0;
    const struct passwd *user = caller ? getpwuid(caller) : NULL;
    return core_push_string(L, user ? user->pw_dir : NULL);
}

/* names(folder) → the names of what is in the folder, sorted; nil where it cannot be read */
static int system_names(lua_State *L)
{
    struct dirent **entries;
    int count = scandir(luaL_checkstring(L, 1), &entries, NULL, alphasort);
    if (count < 0)
        return 0;
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        core_set_string_at(L, i + 1, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return 1;
}

/* is_terminal(fd) → boolean */
static int system_is_terminal(lua_State *L)
{
    return core_push_boolean(L, terminal_is((int)luaL_checkinteger(L, 1)));
}

/* environment(name) → value, or nil: also in a process with more rights than its starter */
static int system_environment(lua_State *L)
{
    return core_push_string(L, secure_getenv(luaL_checkstring(L, 1)));
}

/* notify(text): sends it to the one that has started this service (sys/notify.h); raises why that cannot be */
static int system_notify(lua_State *L)
{
    struct error err = {0};
    return notify_send(luaL_checkstring(L, 1), &err) ? core_raise(L, &err) : 0;
}

/* create_private(path) → true, or nil and why not */
static int system_create_private(lua_State *L)
{
    int result = path_create_private(luaL_checkstring(L, 1));
    if (result == 0)
        return core_push_boolean(L, true);
    lua_pushnil(L);
    lua_pushstring(L, error_reason(result));
    return 2;
}

/* system.is_regular(path) → true for a file that is no folder, pipe or device */
static int system_is_regular(lua_State *L)
{
    struct stat status;
    lua_pushboolean(L, stat(luaL_checkstring(L, 1), &status) == 0 && S_ISREG(status.st_mode));
    return 1;
}

/* system.pid() → this process's id */
static int system_pid(lua_State *L)
{
    return core_push_number(L, getpid());
}

/* system.close(fd): of a descriptor that core has given */
static int system_close(lua_State *L)
{
    close((int)luaL_checkinteger(L, 1));
    return 0;
}

/* system.flush_output() → nil, or why something could not be written to standard output by now */
static int system_flush_output(lua_State *L)
{
    int reason = output_flush();
    return core_push_string(L, reason ? error_reason(reason) : NULL);
}

/* system.capability_missing() → what tracing needs and this process lacks, such as "CAP_BPF and CAP_PERFMON"; nil if
 * nothing */
static int system_capability_missing(lua_State *L)
{
    return core_push_string(L, capability_missing());
}

/* system.namespace_problem() → why handlers know other PIDs than this process, nil where they do not */
static int system_namespace_problem(lua_State *L)
{
    return core_push_string(L, namespace_problem());
}

/* system.root_path() → this process's root folder as the kernel's own paths have it, "/srv/x" or "/"; nil where that
 * cannot be found out */
static int system_root_path(lua_State *L)
{
    return push_owned(L, namespace_root_path());
}

/* What a feature's CODE says, for people. MISSING: the capabilities without which it could not be tried. */
static const char *reason(int code, const char *missing)
{
    if (missing)
        return missing;
    if (code == -EPERM || code == -EACCES)
        return "the kernel permits it to no process";
    return code == -ECANCELED ? "UPLUA_WITHOUT says so" : error_reason(code == -ENOTSUPP_KERNEL ? EOPNOTSUPP : -code);
}

/*
 * system.features() → { { name, text, available, why, untried }, … }: all that is asked of the kernel. WHY is what it
 * said, nil where it has it; UNTRIED is true where this process may not ask, and WHY is the capability that it lacks
 */
static int system_features(lua_State *L)
{
    lua_createtable(L, FEATURE_COUNT, 0); /* list */
    for (int i = 0; i < FEATURE_COUNT; i++) {
        int code = feature_code((enum feature)i);
        const char *missing = code == -EPERM || code == -EACCES ? capability_missing() : NULL;
        lua_createtable(L, 0, 5); /* list feature */
        core_set_string(L, "name", feature_name((enum feature)i));
        core_set_string(L, "text", feature_text((enum feature)i));
        core_set_boolean(L, "available", code == 0);
        core_set_boolean(L, "untried", missing != NULL);
        core_set_string(L, "why", code ? reason(code, missing) : NULL);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* system.kernel() → its release, such as "6.1.0-56-cloud-amd64" */
static int system_kernel(lua_State *L)
{
    struct utsname name;
    return core_push_string(L, uname(&name) ? "?" : name.release);
}

int system_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"executable", system_executable},
        {"real_path", system_real_path},
        {"link_target", system_link_target},
        {"is_file", system_is_file},
        {"is_regular", system_is_regular},
        {"is_terminal", system_is_terminal},
        {"environment", system_environment},
        {"notify", system_notify},
        {"create_private", system_create_private},
        {"trust_problem", system_trust_problem},
        {"sudo_home", system_sudo_home},
        {"names", system_names},
        {"pid", system_pid},
        {"close", system_close},
        {"flush_output", system_flush_output},
        {"capability_missing", system_capability_missing},
        {"namespace_problem", system_namespace_problem},
        {"root_path", system_root_path},
        {"features", system_features},
        {"kernel", system_kernel},
        {NULL, NULL},
    };
    return core_functions(L, functions);
}
