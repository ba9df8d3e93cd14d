/* Reads the options of a setup's compilation: the traced processes and threads, as Lua describes them, and the kernel's
 * features. */
#include "lua/compile_options.h"

#include <stdlib.h>

#include "lua/core.h"
#include "probe/args/locals.h"
#include "probe/args/parameters.h"
#include "probe/probe.h"
#include "sys/btf.h"
#include "sys/feature.h"
#include "sys/kernel_types.h"

#include "../bpf/return_address.h"
#include "../bpf/trampoline.h"

/* The numbers in the list that is the field NAME of the table at 2, or none. */
static const pid_t *read_pids(lua_State *L, const char *name, struct arena *arena, size_t *count)
{
    lua_getfield(L, 2, name); /* list */
    *count = lua_istable(L, -1) ? lua_objlen(L, -1) : 0;
    pid_t *pids = arena_allocate(arena, (*count + 1) * sizeof *pids);
    for (size_t i = 0; i < *count; i++) {
        lua_rawgeti(L, -1, (int)i + 1);
        pids[i] = (pid_t)lua_tointeger(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return pids;
}

/* The same of times. */
static const uint64_t *read_births(lua_State *L, struct arena *arena)
{
    lua_getfield(L, 2, "births"); /* list */
    size_t count = lua_istable(L, -1) ? lua_objlen(L, -1) : 0;
    uint64_t *births = arena_allocate(arena, (count + 1) * sizeof *births);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, -1, (int)i + 1);
        births[i] = (uint64_t)lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return births;
}

/* Who is traced: { pids, except, followed, tids, births, cgroups, cgroup_level, comms, cpus } of the table at
 * 2. */
static void read_filter(lua_State *L, struct arena *arena, struct compile_options *options)
{
    options->pids = read_pids(L, "pids", arena, &options->pid_count);
    options->tids = read_pids(L, "tids", arena, &options->tid_count);
    options->comms = core_strings_field_in(L, 2, "comms", arena, &options->comm_count);
    options->except = (pid_t)core_number_field(L, 2, "except");
    options->followed = (size_t)core_number_field(L, 2, "followed");
    options->cgroups = (size_t)core_number_field(L, 2, "cgroups");
    options->cgroup_level = (int)core_number_field(L, 2, "cgroup_level");
    options->births = read_births(L, arena);
    options->cpus = read_pids(L, "cpus", arena, &options->cpu_count);
}

/* Where the kernel keeps when a process began; EXPLAINED: anywhere, the same for all kernels. */
static void find_births(struct compile_options *options, bool explained)
{
    struct kernel_field fields[] = {{"task_struct", "group_leader", 1024, 0},
                                    {"task_struct", "start_boottime", 1280, 0}};
    if (!explained && kernel_btf_fields(fields, sizeof fields / sizeof *fields))
        return;
    options->task_leader = fields[0].offset;
    options->task_birth = fields[1].offset;
}

/* Where the kernel keeps the thread pointer, which leads to _Thread_local variables. aarch64's is in a register. */
static uint32_t task_thread(void)
{
    struct kernel_field field = {"task_struct", "thread.fsbase", 0, 0};
    return kernel_btf_fields(&field, 1) ? 0 : field.offset;
}

static uint32_t task_thread_anywhere(void)
{
    return 4096;
}

/* 1 where this kernel has no function NAME: the code is for another one then, to be looked at (UPLUA_WITH). */
static int kernel_function(const char *name)
{
    int id = kernel_btf_function(name);
    return id > 0 ? id : 1;
}

static struct kernel_returns find_returns(bool explained)
{
    struct kernel_returns found = {0};
    struct kernel_field fields[] = {
        {"task_struct", "utask", 2048, 0},      {"uprobe_task", "depth", 4, 0},      {"task_struct", "mm", 1024, 0},
        {"mm_struct", "uprobes_state", 512, 0}, {"uprobes_state", "xol_area", 0, 0}, {"xol_area", "vaddr", 64, 0},
    };
    struct kernel_field chain[] = {
        {"uprobe_task", "return_instances", 16, 0},
        {"return_instance", "stack", 24, 0},
        {"return_instance", "orig_ret_vaddr", 32, 0},
        {"return_instance", "next", 48, 0},
    };
    if (!explained && kernel_btf_fields(fields, sizeof fields / sizeof *fields))
        return found;
    found.task_uprobes = fields[0].offset;
    found.uprobes_depth = fields[1].offset;
    found.trampoline_fields =
        TRAMPOLINE_FIELDS(fields[2].offset, fields[3].offset + fields[4].offset, fields[5].offset);
    if (explained || !kernel_btf_fields(chain, sizeof chain / sizeof *chain))
        found.chain =
            RETURN_CHAIN(fields[0].offset, chain[0].offset, chain[1].offset, chain[2].offset, chain[3].offset);
    return found;
}

static const struct kernel_returns *returns(void)
{
    static struct kernel_returns found;
    static bool looked;
    if (!looked)
        found = find_returns(false);
    looked = true;
    return &found;
}

/* Anywhere, the same for all kernels. */
static const struct kernel_returns *returns_anywhere(void)
{
    static struct kernel_returns found;
    found = find_returns(true);
    return &found;
}

struct compile_options compile_options_read(lua_State *L, struct lua_host *host)
{
    struct compile_options options = {
        .find_arguments = parameters_find,
        .stand_at_entry = slide_back,
        .settle = slide_settle,
        .find_variable = locals_find,
        .source_line = host_source_line,
        .context = host,
    };
    read_filter(L, compiler_arena(host->compiler), &options);
    options.states = (size_t)core_number_field(L, 2, "states");
    options.states_fd = (int)core_number_field(L, 2, "states_fd");
    lua_getfield(L, 2, "stacks"); /* "user", "kernel" or nil */
    options.stacks = lua_isstring(L, -1) ? *lua_tostring(L, -1) : 0;
    lua_pop(L, 1);
    lua_getfield(L, 2, "trampoline"); /* trampoline */
    options.return_trampoline = lua_isstring(L, -1) ? strtoull(lua_tostring(L, -1), NULL, 0) : 0;
    lua_pop(L, 1);
    lua_getfield(L, 2, "returns"); /* returns */
    if (lua_toboolean(L, -1) && feature_available(FEATURE_SESSION)) {
        options.session_is_return = kernel_function("bpf_session_is_return");
        options.session_attach_type = probe_attach_type(ATTACH_SESSION);
    }
    lua_getfield(L, 2, "explained"); /* returns explained */
    options.task_thread = lua_toboolean(L, -1) ? task_thread_anywhere : task_thread;
    options.returns = lua_toboolean(L, -1) ? returns_anywhere : returns;
    if (options.pid_count || options.followed)
        find_births(&options, lua_toboolean(L, -1));
    lua_pop(L, 2);
    return options;
}
