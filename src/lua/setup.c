/* setup: compiles and loads the handlers of a setup. One compiler per state keeps what earlier setups have loaded. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "compile/lower/func_names.h"
#include "compile/object/library.h"
#include "lua/core.h"
#include "lua/cost.h"
#include "lua/explain.h"
#include "lua/handler.h"
#include "lua/host.h"
#include "lua/layout.h"
#include "lua/link.h"
#include "probe/args/parameters.h"
#include "probe/attach/cost.h"
#include "probe/attach/kernel.h"
#include "probe/probe.h"
#include "sys/btf.h"
#include "sys/feature.h"

#include "../bpf/trampoline.h"

#define COMPILER "uplua.compiler"
#define LOADED "uplua.loaded"

struct lua_compiler {
    struct lua_host host;
    struct compiler *compiler;
};

struct lua_loaded {
    struct object *object; /* until it is loaded or thrown away */
    struct loaded *loaded;
}; /* its environment table: the causes of the counters in its ledger, from 0 */

static struct lua_compiler *check_compiler(lua_State *L)
{
    return luaL_checkudata(L, 1, COMPILER);
}

/* setup.new() → compiler */
static int setup_new(lua_State *L)
{
    struct lua_compiler *self = lua_newuserdata(L, sizeof *self); /* self */
    memset(self, 0, sizeof *self);
    luaL_getmetatable(L, COMPILER);
    lua_setmetatable(L, -2);
    struct host host = host_open(&self->host, L);
    self->compiler = compiler_new(host);
    self->host.compiler = self->compiler;
    return self->compiler ? 1 : luaL_error(L, "out of memory");
}

static int compiler_gc(lua_State *L)
{
    struct lua_compiler *self = check_compiler(L);
    compiler_free(self->compiler);
    self->compiler = NULL;
    host_close(&self->host);
    return 0;
}

/* Frees the compilation, and what has been decoded for it. */
static void end_compilation(struct lua_compiler *self)
{
    compiler_end(self->compiler);
    host_forget(&self->host);
}

/* Ends the compilation and raises what was wrong. */
static int raise_failure(lua_State *L, struct lua_compiler *self, const struct error *err)
{
    end_compilation(self);
    return core_raise(L, err);
}

/* compiler:begin(): what add_object and given tell, and load or compile ends, is of one compilation */
static int compiler_begin_lua(lua_State *L)
{
    struct lua_compiler *self = check_compiler(L);
    end_compilation(self);
    compiler_begin(self->compiler, core_no_memory, L);
    return 0;
}

/*
 * compiler:add_object(kind, max, buckets, key, value): the next shared object, in the order of
 * uplua.objects.object.all. BUCKETS: those of an lhist or hdr; KEY, VALUE: layouts that are declared.
 */
static int compiler_add(lua_State *L)
{
    static const char *const kinds[] = {"hash",  "lru",  "percpu_hash", "array", "count", "sum",  "min",    "max",
                                        "stats", "hist", "lhist",       "hdr",   "var",   "ring", "output", NULL};
    struct lua_compiler *self = check_compiler(L);
    const char *name = luaL_checkstring(L, 2);
    int kind = OBJECT_HASH;
    while (kind < OBJECT_OTHER && strcmp(kinds[kind], name))
        kind++;
    struct shared object = {.kind = (enum object_kind)kind, .max = (uint64_t)luaL_checknumber(L, 3)};
    if (lua_istable(L, 4))
        object.buckets = (struct buckets){
            .low = (int64_t)core_number_field(L, 4, "low"),
            .step = (uint64_t)core_number_field(L, 4, "step"),
            .count = (uint64_t)core_number_field(L, 4, "count"),
            .bits = (unsigned)core_number_field(L, 4, "bits"),
        };
    if (lua_istable(L, 5))
        object.declared_key = layout_read(L, 5, compiler_arena(self->compiler));
    if (lua_istable(L, 6))
        object.declared_value = layout_read(L, 6, compiler_arena(self->compiler));
    return compiler_add_object(self->compiler, &object) ? 0 : luaL_error(L, "out of memory");
}

static const char *string_at(lua_State *L, int index, struct arena *arena)
{
    size_t length = 0;
    const char *text = lua_tolstring(L, index, &length);
    return arena_string(arena, text ? text : "", length);
}

/* Widens *INTO, first seen at *INTO_AT, for the value at INDEX that the script has written at AT. */
static void join_given(lua_State *L, struct arena *arena, struct type *into, const struct position **into_at, int index,
                       const struct position *at, const char *what)
{
    struct type from = layout_type_of(L, index, arena), before = *into;
    bool changed = false;
    type_locate(from, at);
    if (!type_join(arena, into, from, &changed)) {
        const struct position *earlier = *into_at;
        *into = before;
        lua_pushfstring(L, "%s:%d: the %s is %s here, and %s at %s:%d", at->file, at->line, what,
                        type_name(arena, from), type_name(arena, before), earlier->file, earlier->line);
        lua_error(L);
    }
    if (!*into_at)
        *into_at = at;
}

/* compiler:given(object, key, value, file, line): an entry that the script has written there before the map exists */
static int compiler_given(lua_State *L)
{
    struct lua_compiler *self = check_compiler(L);
    struct shared *object = compiler_object(self->compiler, (size_t)luaL_checkinteger(L, 2));
    luaL_argcheck(L, object, 2, "no such object");
    struct arena *arena = compiler_arena(self->compiler);
    struct position *at = arena_allocate(arena, sizeof *at);
    *at = (struct position){.file = string_at(L, 5, arena), .line = (int)lua_tointeger(L, 6)};
    join_given(L, arena, &object->given_key, &object->given_key_at, 3, at, "key");
    join_given(L, arena, &object->given_value, &object->given_value_at, 4, at, "value");
    return 0;
}

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

/* The same of strings. */
static const char *const *read_strings(lua_State *L, const char *name, struct arena *arena, size_t *count)
{
    lua_getfield(L, 2, name); /* list */
    *count = lua_istable(L, -1) ? lua_objlen(L, -1) : 0;
    const char **strings = arena_allocate(arena, (*count + 1) * sizeof *strings);
    for (size_t i = 0; i < *count; i++) {
        lua_rawgeti(L, -1, (int)i + 1);
        strings[i] = string_at(L, lua_gettop(L), arena);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return strings;
}

/* Who is traced: { pids, except, followed, tids, births, cgroups, cgroup_level, comms } of the table at 2. */
static void read_filter(lua_State *L, struct arena *arena, struct compile_options *options)
{
    options->pids = read_pids(L, "pids", arena, &options->pid_count);
    options->tids = read_pids(L, "tids", arena, &options->tid_count);
    options->comms = read_strings(L, "comms", arena, &options->comm_count);
    options->except = (pid_t)core_number_field(L, 2, "except");
    options->followed = (size_t)core_number_field(L, 2, "followed");
    options->cgroups = (size_t)core_number_field(L, 2, "cgroups");
    options->cgroup_level = (int)core_number_field(L, 2, "cgroup_level");
    options->births = read_births(L, arena);
}

/* Where the kernel keeps when a process began; EXPLAINED: anywhere, the same for all kernels. */
static void find_births(struct compile_options *options, bool explained)
{
    struct kernel_field fields[] = {{"task_struct", "group_leader", 1024}, {"task_struct", "start_boottime", 1280}};
    if (!explained && kernel_btf_fields(fields, sizeof fields / sizeof *fields))
        return;
    options->task_leader = fields[0].offset;
    options->task_birth = fields[1].offset;
}

/* 1 where this kernel has no function NAME: the code is for another one then, to be looked at (UPLUA_WITH). */
static int kernel_function(const char *name)
{
    int id = kernel_btf_function(name);
    return id > 0 ? id : 1;
}

/*
 * Where the kernel keeps in how many calls a thread is whose returns it follows, and where these return to; EXPLAINED:
 * anywhere, the same for all kernels.
 */
static void find_returns(struct compile_options *options, bool explained)
{
    struct kernel_field fields[] = {
        {"task_struct", "utask", 2048},      {"uprobe_task", "depth", 4},      {"task_struct", "mm", 1024},
        {"mm_struct", "uprobes_state", 512}, {"uprobes_state", "xol_area", 0}, {"xol_area", "vaddr", 64},
    };
    if (!explained && kernel_btf_fields(fields, sizeof fields / sizeof *fields))
        return;
    options->task_uprobes = fields[0].offset;
    options->uprobes_depth = fields[1].offset;
    options->trampoline_fields =
        TRAMPOLINE_FIELDS(fields[2].offset, fields[3].offset + fields[4].offset, fields[5].offset);
}

static struct compile_options options_of(struct lua_compiler *self, lua_State *L)
{
    struct compile_options options = {
        .find_arguments = parameters_find,
        .source_line = host_source_line,
        .context = &self->host,
    };
    read_filter(L, compiler_arena(self->compiler), &options);
    lua_getfield(L, 2, "trampoline"); /* trampoline */
    options.return_trampoline = lua_isstring(L, -1) ? strtoull(lua_tostring(L, -1), NULL, 0) : 0;
    lua_pop(L, 1);
    lua_getfield(L, 2, "returns"); /* returns */
    if (lua_toboolean(L, -1) && feature_available(FEATURE_SESSION)) {
        options.session_is_return = kernel_function("bpf_session_is_return");
        options.session_attach_type = probe_attach_type(ATTACH_SESSION);
    }
    bool returns = lua_toboolean(L, -1);
    lua_getfield(L, 2, "explained"); /* returns explained */
    if (returns)
        find_returns(&options, lua_toboolean(L, -1));
    if (options.pid_count || options.followed)
        find_births(&options, lua_toboolean(L, -1));
    lua_pop(L, 2);
    return options;
}

/* Sets what the program NAME is attached with in the table on the top: its descriptor and its cookie. */
static void set_program(lua_State *L, const struct lua_loaded *loaded, const char *name, const char *fd,
                        const char *cookie)
{
    const struct object_program *program = object_find_program(loaded->object, name);
    lua_pushinteger(L, loaded_program_fd(loaded->loaded, program && program->joint ? program->joint : name));
    lua_setfield(L, -2, fd);
    lua_pushinteger(L, program ? (lua_Integer)program->cookie : 0);
    lua_setfield(L, -2, cookie);
}

/* Pushes { fd =, cookie =, entry_fd =, entry_cookie =, session = } for each handler. */
static void push_handlers(lua_State *L, const struct lua_loaded *loaded, const struct handler *handlers, size_t count)
{
    lua_createtable(L, (int)count, 0); /* list */
    for (size_t i = 0; i < count; i++) {
        lua_createtable(L, 0, 5); /* list handler */
        set_program(L, loaded, handlers[i].program, "fd", "cookie");
        if (*handlers[i].entry_program)
            set_program(L, loaded, handlers[i].entry_program, "entry_fd", "entry_cookie");
        lua_pushboolean(L, handlers[i].session);
        lua_setfield(L, -2, "session");
        lua_rawseti(L, -2, (int)i + 1);
    }
}

static const char *map_type_name(uint32_t type)
{
    switch (type) {
    case BPF_MAP_TYPE_ARRAY:
        return "array";
    case BPF_MAP_TYPE_PERCPU_ARRAY:
        return "percpu_array";
    case BPF_MAP_TYPE_PERCPU_HASH:
        return "percpu_hash";
    case BPF_MAP_TYPE_RINGBUF:
        return "ringbuf";
    default:
        return "hash";
    }
}

static void push_constant(lua_State *L, const struct captured *constant)
{
    switch (constant->kind) {
    case CAPTURED_BOOLEAN:
        lua_pushboolean(L, constant->boolean);
        break;
    case CAPTURED_NUMBER:
        lua_pushnumber(L, constant->number);
        break;
    case CAPTURED_STRING:
        lua_pushlstring(L, constant->string.bytes, constant->string.length);
        break;
    default:
        lua_pushnil(L);
    }
}

/* Pushes { format =, count =, constants = { [place] = value }, travels = { [place] = true }, unsigned = { [place] =
 * true } }. */
static void push_print(lua_State *L, const struct print *print)
{
    lua_createtable(L, 0, 5); /* print */
    lua_pushlstring(L, print->format, print->length);
    lua_setfield(L, -2, "format");
    lua_pushinteger(L, (lua_Integer)print->count);
    lua_setfield(L, -2, "count");
    lua_newtable(L); /* print constants */
    lua_newtable(L); /* print constants travels */
    lua_newtable(L); /* print constants travels unsigned */
    for (size_t i = 0; i < print->count; i++) {
        const struct print_argument *argument = &print->args[i];
        lua_pushboolean(L, !argument->constant);
        lua_rawseti(L, -3, (int)i + 1);
        lua_pushboolean(L, argument->is_unsigned);
        lua_rawseti(L, -2, (int)i + 1);
        if (argument->constant) {
            push_constant(L, argument->constant);
            lua_rawseti(L, -4, (int)i + 1);
        }
    }
    lua_setfield(L, -4, "unsigned");
    lua_setfield(L, -3, "travels");
    lua_setfield(L, -2, "constants");
}

/* Sets `variants`, and `prints` of uplua's own ring, in the description on the top: tables by tag. */
static void push_variants(lua_State *L, const struct shared *object)
{
    lua_createtable(L, (int)object->variant_count, 0); /* description variants */
    lua_newtable(L);                                   /* description variants prints */
    for (size_t tag = 0; tag < object->variant_count; tag++) {
        const struct variant *variant = &object->variants[tag];
        layout_push(L, (struct type){.kind = TYPE_RECORD, .record = variant->record});
        lua_rawseti(L, -3, (int)tag);
        if (variant->print) {
            push_print(L, variant->print);
            lua_rawseti(L, -2, (int)tag);
        }
    }
    lua_setfield(L, -3, "prints");
    lua_setfield(L, -2, "variants");
}

/* True if OBJECT, which an earlier setup has loaded, may have something new: a ring variants, an aggregation another
 * turn. */
static bool is_bound_again(const struct shared *object)
{
    return object->variant_count || object->turn >= 0;
}

/* Pushes object.bind's description of each object that has just been loaded, by its id; and of some that are used
 * again. */
static void push_objects(lua_State *L, struct compiler *compiler, const struct loaded *loaded)
{
    lua_newtable(L); /* objects */
    for (size_t i = 0; i < compiler_object_count(compiler); i++) {
        struct shared *object = compiler_object(compiler, i);
        if (!object->used || (object->fd >= 0 && !is_bound_again(object)))
            continue;
        int fd = object->fd < 0 ? loaded_map_fd(loaded, object->map_name) : object->fd;
        if (fd < 0)
            continue;
        object->fd = fd;
        if (*object->spill_name && object->spill_fd < 0)
            object->spill_fd = loaded_map_fd(loaded, object->spill_name);
        lua_createtable(L, 0, 9); /* objects description */
        lua_pushinteger(L, fd);
        lua_setfield(L, -2, "fd");
        if (object->spill_fd >= 0) {
            lua_pushinteger(L, object->spill_fd);
            lua_setfield(L, -2, "spill");
        }
        if (object->turn >= 0) {
            lua_pushinteger(L, object->turn);
            lua_setfield(L, -2, "turn");
        }
        lua_pushnumber(L, (lua_Number)object->max);
        lua_setfield(L, -2, "max");
        lua_pushstring(L, map_type_name(object->map_type));
        lua_setfield(L, -2, "type");
        if (object->name) {
            lua_pushstring(L, object->name);
            lua_setfield(L, -2, "name");
        }
        if (object->keyed) {
            layout_push(L, object->key);
            lua_setfield(L, -2, "key");
        }
        if (object->value.kind != TYPE_NONE) {
            layout_push(L, object->value);
            lua_setfield(L, -2, "value");
        }
        push_variants(L, object);
        lua_rawseti(L, -2, (int)i + 1);
    }
}

static struct lua_loaded *new_loaded(lua_State *L)
{
    struct lua_loaded *result = lua_newuserdata(L, sizeof *result);
    memset(result, 0, sizeof *result);
    luaL_getmetatable(L, LOADED);
    lua_setmetatable(L, -2);
    return result;
}

/*
 * Compiles the handlers of the description at index 2 into the object of RESULT, which is on the top; raises the reason
 * where that fails.
 */
static struct handler *compile_handlers(lua_State *L, struct lua_compiler *self, struct lua_loaded *result,
                                        size_t *count)
{
    int top = lua_gettop(L);
    struct error err = {0};
    const struct ledger_entry *ledger;
    size_t ledger_count;
    luaL_checktype(L, 2, LUA_TTABLE);
    struct compile_options options = options_of(self, L);
    lua_getfield(L, 2, "handlers");
    struct handler *handlers = handlers_read(L, lua_gettop(L), compiler_arena(self->compiler), count);
    if (compiler_compile(self->compiler, handlers, *count, &options, &result->object, &ledger, &ledger_count, &err))
        raise_failure(L, self, &err);
    lua_settop(L, top);
    lua_createtable(L, (int)ledger_count, 0); /* … loaded causes */
    for (size_t i = 0; i < ledger_count; i++) {
        lua_pushstring(L, ledger[i].cause);
        lua_rawseti(L, -2, (int)i);
    }
    lua_setfenv(L, -2); /* … loaded */
    return handlers;
}

/* The library's maps of an earlier setup, { [name] = fd }, that OBJECT is to use. */
static int reuse_maps(lua_State *L, int index, struct object *object)
{
    int rc = 0;
    lua_getfield(L, index, "reuse"); /* maps */
    luaL_checktype(L, -1, LUA_TTABLE);
    for (lua_pushnil(L); !rc && lua_next(L, -2); lua_pop(L, 1)) /* maps name fd */
        rc = object_reuse_map(object, luaL_checkstring(L, -2), (int)luaL_checkinteger(L, -1));
    return rc;
}

/*
 * compiler:load{ handlers = { { kind, probe, symbol, names, at_entry, slid, handle }, … }, pids = {…}, … (read_filter),
 * returns = boolean, explained = boolean, reuse = { [map] = fd } } → loaded, handlers, objects, link (of what measures
 * the probes' cost, if anything does; core.cost), why that could not be measured (or nil)
 */
static int compiler_load(lua_State *L)
{
    struct lua_compiler *self = check_compiler(L);
    struct lua_loaded *result = new_loaded(L); /* … loaded, owned before anything can fail */
    struct error err = {0}, unknown = {0};
    size_t count, words = 0;
    struct handler *handlers = compile_handlers(L, self, result, &count);
    int status = reuse_maps(L, 2, result->object);
    if (status || (status = object_merge(result->object, "uplua_ustack")))
        return luaL_error(L, "cannot make the BPF object: %s", error_reason(status));
    lua_settop(L, 3);
    struct probe_link **link = link_push(L); /* … loaded link */
    struct cost_run *costs = cost_begin_for(handlers, count);
    int code = object_load(result->object, bpf_library, bpf_library_size, &result->loaded, &err);
    cost_finish(costs, link, &unknown);
    if (code)
        return raise_failure(L, self, &err);
    cost_write(loaded_counters(result->loaded, COST_COUNTERS, &words));
    for (size_t i = 0; i < count; i++)
        if (func_names_fill(&handlers[i], result->loaded))
            return luaL_error(L, "cannot write the names of the functions of %s", handlers[i].probe);
    push_handlers(L, result, handlers, count);
    object_free(result->object);
    result->object = NULL;
    push_objects(L, self->compiler, result->loaded);
    if (compiler_keep(self->compiler, &err))
        return raise_failure(L, self, &err);
    end_compilation(self);
    lua_pushvalue(L, 4);
    lua_remove(L, 4); /* … loaded handlers objects link */
    lua_pushstring(L, *unknown.text ? unknown.text : NULL);
    return 5;
}

/* compiler:compile(description, path): loads nothing, writes the object to PATH unless that is nil; → its contents
 * (lua/explain.h) */
static int compile_only(lua_State *L)
{
    struct lua_compiler *self = check_compiler(L);
    const char *path = luaL_optstring(L, 3, NULL);
    struct lua_loaded *result = new_loaded(L);
    struct error err = {0};
    size_t count;
    struct handler *handlers = compile_handlers(L, self, result, &count);
    if (path && object_save(result->object, bpf_library, bpf_library_size, path, &err))
        return raise_failure(L, self, &err);
    explain_push(L, result->object, handlers, count);
    end_compilation(self);
    return 1;
}

static struct lua_loaded *check_loaded(lua_State *L)
{
    return luaL_checkudata(L, 1, LOADED);
}

/* loaded:map(name) → descriptor of a map of the library, or nil */
static int loaded_map(lua_State *L)
{
    struct lua_loaded *self = check_loaded(L);
    int fd = self->loaded ? loaded_map_fd(self->loaded, luaL_checkstring(L, 2)) : -1;
    if (fd < 0)
        return 0;
    lua_pushinteger(L, fd);
    return 1;
}

/* loaded:program(name) → descriptor of the program that is no handler's, or nil */
static int loaded_program(lua_State *L)
{
    struct lua_loaded *self = check_loaded(L);
    int fd = self->loaded ? loaded_program_fd(self->loaded, luaL_checkstring(L, 2)) : -1;
    if (fd < 0)
        return 0;
    lua_pushinteger(L, fd);
    return 1;
}

/* loaded:counters(name) → the counters of the handlers or of the library, from 0; nil where it has none */
static int loaded_values(lua_State *L)
{
    struct lua_loaded *self = check_loaded(L);
    size_t count = 0;
    const volatile uint64_t *counters =
        self->loaded ? loaded_counters(self->loaded, luaL_checkstring(L, 2), &count) : NULL;
    if (!counters)
        return 0;
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_pushnumber(L, (lua_Number)counters[i]);
        lua_rawseti(L, -2, (int)i);
    }
    return 1;
}

/* loaded:address(name) → the address of the counters NAME, which lives as long as LOADED; nil where it has none */
static int loaded_address(lua_State *L)
{
    struct lua_loaded *self = check_loaded(L);
    size_t count = 0;
    volatile uint64_t *counters = self->loaded ? loaded_counters(self->loaded, luaL_checkstring(L, 2), &count) : NULL;
    if (!counters)
        return 0;
    lua_pushlightuserdata(L, (void *)counters);
    return 1;
}

/* loaded:causes() → the texts of the counters `ledger`, from 0 */
static int loaded_causes(lua_State *L)
{
    check_loaded(L);
    lua_getfenv(L, 1); /* causes */
    return 1;
}

static int loaded_gc(lua_State *L)
{
    struct lua_loaded *self = check_loaded(L);
    loaded_free(self->loaded);
    self->loaded = NULL;
    object_free(self->object);
    self->object = NULL;
    return 0;
}

/* setup.features() → { { name, available }, … }: what handlers are compiled for */
static int setup_features(lua_State *L)
{
    lua_createtable(L, FEATURES_OF_CODE, 0); /* list */
    for (int i = 0; i < FEATURES_OF_CODE; i++) {
        lua_createtable(L, 2, 0); /* list feature */
        lua_pushstring(L, feature_name((enum feature)i));
        lua_rawseti(L, -2, 1);
        lua_pushboolean(L, feature_available((enum feature)i));
        lua_rawseti(L, -2, 2);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* setup.kinds() → { "uprobe", … }: the kinds of probes */
static int setup_kinds(lua_State *L)
{
    const struct provider *provider;
    lua_newtable(L); /* list */
    for (size_t i = 0; (provider = provider_at(i)); i++) {
        lua_pushstring(L, provider->name);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

int setup_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"new", setup_new}, {"features", setup_features}, {"kinds", setup_kinds}, {NULL, NULL}};
    static const luaL_Reg compiler_methods[] = {
        {"begin", compiler_begin_lua}, {"add_object", compiler_add}, {"given", compiler_given},
        {"load", compiler_load},       {"compile", compile_only},    {NULL, NULL},
    };
    static const luaL_Reg loaded_methods[] = {
        {"map", loaded_map},       {"counters", loaded_values}, {"address", loaded_address},
        {"causes", loaded_causes}, {"program", loaded_program}, {NULL, NULL},
    };
    core_new_class(L, COMPILER, compiler_methods, compiler_gc);
    core_new_class(L, LOADED, loaded_methods, loaded_gc);
    lua_newtable(L);
    luaL_register(L, NULL, functions);
    return 1;
}
