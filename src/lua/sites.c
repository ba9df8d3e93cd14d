/* sites: the places that specs name in the target's programs and libraries. */
#include "lua/sites.h"

#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "lua/claims.h"
#include "lua/core.h"
#include "lua/target.h"
#include "probe/args/locals.h"
#include "probe/args/parameters.h"
#include "probe/args/result_groups.h"
#include "probe/reentry.h"
#include "probe/spec/inlined.h"
#include "probe/target/late_modules.h"
#include "sym/clone.h"
#include "sym/demangle.h"

struct lua_sites {
    struct sites sites; /* first: lua/sites.h */
    struct arena arena; /* of their parameters */
};

void sites_push(lua_State *L, struct site **sites, size_t *count)
{
    struct lua_sites *self = core_new_object(L, sizeof *self, SITES);
    self->sites.items = *sites;
    self->sites.count = *count;
    *sites = NULL;
    *count = 0;
}

struct sites *sites_at(lua_State *L, int index)
{
    return lua_isuserdata(L, index) ? &((struct lua_sites *)luaL_checkudata(L, index, SITES))->sites : NULL;
}

int sites_slid(const struct sites *sites)
{
    int slid = sites->count ? (int)sites->items[0].slid : 0;
    for (size_t i = 0; i < sites->count; i++)
        if ((int)sites->items[i].slid != slid && !sites->items[i].is_exit)
            return -1;
    return slid;
}

/* The specs at INDEX, a string or a list of strings, in userdata that is pushed. */
static const char **read_specs(lua_State *L, int index, size_t *count)
{
    if (lua_istable(L, index))
        return core_strings(L, index, count);
    const char **specs = lua_newuserdata(L, sizeof *specs);
    specs[0] = luaL_checkstring(L, index);
    *count = 1;
    return specs;
}

int sites_resolve_lua(lua_State *L)
{
    static const char *const slides[] = {"off", "exact", "lossy", NULL};
    int slide = lua_isnoneornil(L, 2) ? -1 : luaL_checkoption(L, 2, NULL, slides);
    static const char *const ways[] = {"address", "surely", "instructions", NULL}; /* enum returns */
    bool named = lua_type(L, 3) == LUA_TSTRING;
    enum returns returns =
        (enum returns)(named ? RETURNS_BY_ADDRESS + luaL_checkoption(L, 3, NULL, ways) : lua_toboolean(L, 3));
    pid_t pid = (pid_t)luaL_optinteger(L, 4, 0);
    const struct target process = {.pids = &pid, .count = 1};
    size_t count;
    const char **specs = read_specs(L, 1, &count);
    struct lua_sites *self = core_new_object(L, sizeof *self, SITES);
    struct error err = {0};
    int result = probe_resolve_all(specs, count, pid ? &process : lua_target(L), returns, &self->sites, &err);
    if (result == -ENXIO)
        return core_absent(L, &err);
    if (result)
        return core_raise(L, &err);
    const struct entry_reads reads = {.returns = returns != RETURNS_NOT_SEEN};
    if (slide >= 0 && slide_sites(self->sites.items, self->sites.count, (enum slide)slide, &reads, &err))
        return core_raise(L, &err);
    if (probe_sites_leave_refused(&self->sites, &err))
        return core_raise(L, &err);
    return 1;
}

/* sites:files() → { what tells the file from others (arrival.identify), … } */
static int sites_files(lua_State *L)
{
    const struct sites *sites = luaL_checkudata(L, 1, SITES);
    lua_newtable(L);
    for (size_t i = 0; i < sites->count; i++) {
        char identity[ARRIVAL_IDENTITY_SIZE];
        if (i && strcmp(sites->items[i].path, sites->items[i - 1].path) == 0)
            continue;
        int result = late_module_identify(sites->items[i].path, identity);
        if (result == -ENOMEM)
            return luaL_error(L, "out of memory");
        if (result)
            continue;
        core_set_string_at(L, (int)lua_objlen(L, -1) + 1, identity);
    }
    return 1;
}

/* Pushes SITE's function as people read it, with its version where that is not the default one. */
static void push_name(lua_State *L, const struct site *site)
{
    char *name = demangle(site->function);
    const char *version = strchr(site->function, '@');
    lua_pushfstring(L, "%s%s", name ? name : site->function, name && version ? version : "");
    free(name);
}

/* Sets `of` and `of_name`, as people read it, in the table on the top where SITE's function is a clone or an older
 * version of another: that one. */
static void set_of(lua_State *L, const struct site *site)
{
    size_t length = strcspn(site->function, "@"), base;
    clone_of(site->function, length, &base);
    if (!site->function[base])
        return;
    lua_pushlstring(L, site->function, base); /* site of */
    char *name = demangle(lua_tostring(L, -1));
    lua_setfield(L, -2, "of"); /* site */
    core_set_string(L, "of_name", name);
    free(name);
}

/*
 * sites:list([most]) → { { path, module, function, name (the function's as people read it), of, of_name (the one
 * that it is a clone or an older version of), offset, address, inside, of_line, slid, why, found (where the entry's
 * registers are then), unwound }, … }, { { function, why }, … }: and what patterns mean that is not probed. MOST: as
 * many of the sites at most
 */
static int sites_list(lua_State *L)
{
    const struct sites *sites = luaL_checkudata(L, 1, SITES);
    size_t most = (size_t)luaL_optinteger(L, 2, INT_MAX), count = sites->count < most ? sites->count : most;
    lua_createtable(L, (int)count, 0); /* list */
    for (size_t i = 0; i < count; i++) {
        const struct site *site = &sites->items[i];
        lua_createtable(L, 0, 11); /* list site */
        core_set_string(L, "path", site->path);
        core_set_string(L, "module", site->module);
        core_set_string(L, "function", site->function);
        push_name(L, site); /* list site name */
        lua_setfield(L, -2, "name");
        set_of(L, site);
        core_set_number(L, "offset", site->offset);
        core_set_number(L, "address", site->address);
        core_set_number(L, "inside", site->inside);
        core_set_boolean(L, "of_line", site->of_line);
        core_set_number(L, "slid", site->slid);
        core_set_string(L, "why", site->why);
        char *found = slide_describe(site);
        core_set_string(L, "found", found);
        free(found);
        core_set_boolean(L, "unwound", site->unwound);
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_createtable(L, (int)sites->skipped_count, 0); /* list skipped */
    for (size_t i = 0; i < sites->skipped_count; i++) {
        lua_createtable(L, 0, 2); /* list skipped one */
        core_set_string(L, "function", sites->skipped[i].function);
        core_set_string(L, "why", sites->skipped[i].why);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 2;
}

/* Sets `symbol`, the first site's function as people read it, in the table on the top, and `names`, those of all sites,
 * where they differ, or they are WANTED. */
static void summarise_names(lua_State *L, const struct sites *sites, bool wanted)
{
    bool differ = wanted;
    push_name(L, &sites->items[0]); /* summary symbol */
    for (size_t i = 1; i < sites->count && !differ; i++)
        differ = strcmp(sites->items[i].function, sites->items[0].function) != 0;
    if (differ) {
        differ = wanted;
        lua_createtable(L, (int)sites->count, 0); /* summary symbol names */
        for (size_t i = 0; i < sites->count; i++) {
            push_name(L, &sites->items[i]); /* summary symbol names name */
            differ = differ || !lua_rawequal(L, -1, -3);
            lua_rawseti(L, -2, (int)i + 1);
        }
        if (!differ)
            lua_pop(L, 1);
        else
            lua_setfield(L, -3, "names");
    }
    lua_setfield(L, -2, "symbol"); /* summary */
}

/* Sets `leaves` in the table on the top: where calls may be left, { { module, unwound, switches = a function, switcher
 * = the file that has it }, … }. */
static void summarise_leaves(lua_State *L, const struct sites *sites)
{
    const struct site *before = NULL;
    lua_newtable(L); /* summary leaves */
    for (size_t i = 0; i < sites->count; i++) {
        const struct site *site = &sites->items[i];
        if ((!site->unwound && !site->switches.function) ||
            (before && strcmp(before->module, site->module) == 0 && before->unwound == site->unwound &&
             before->switches.function == site->switches.function))
            continue;
        before = site;
        lua_createtable(L, 0, 4); /* summary leaves one */
        core_set_string(L, "module", site->module);
        core_set_boolean(L, "unwound", site->unwound);
        core_set_string(L, "switches", site->switches.function);
        core_set_string(L, "switcher", site->switches.file);
        lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
    }
    lua_setfield(L, -2, "leaves");
}

/*
 * Sets `reentries` in the table on the top: functions whose probes are hit in each round of a loop that is not told
 * from a call, { { function, why }, … }; nil: there are none.
 */
static void summarise_reentries(lua_State *L, const struct sites *sites)
{
    lua_newtable(L); /* summary reentries */
    for (size_t i = 0; i < sites->count; i++) {
        const struct reentries *reentries = sites->items[i].reentries;
        if (!reentries || !reentries->unknown)
            continue;
        lua_createtable(L, 0, 2); /* summary reentries one */
        push_name(L, &sites->items[i]);
        lua_setfield(L, -2, "function");
        core_set_string(L, "why", reentries->unknown);
        lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
    }
    if (lua_objlen(L, -1))
        lua_setfield(L, -2, "reentries");
    else
        lua_pop(L, 1);
}

/*
 * sites:summary([named]) → { count, symbol, names (nil: all are symbol), at_entry = true if all stand at a function's
 * entry or for its exits, slid = how far all have slid, or -1, leaves, reentries, of_go, other = the first function
 * that is not of Go like the first site's (nil: there is none) }. NAMED: there are names, even if all are symbol
 */
static int sites_summary(lua_State *L)
{
    const struct sites *sites = luaL_checkudata(L, 1, SITES);
    const char *other = NULL;
    bool at_entry = true, named = lua_toboolean(L, 2);
    for (size_t i = 0; i < sites->count; i++) {
        const struct site *site = &sites->items[i];
        at_entry = at_entry && (site->inside == 0 || site->is_exit) && !site->jumped_to;
        if (!other && site->of_go != sites->items[0].of_go)
            other = site->function;
    }
    lua_createtable(L, 0, 8); /* summary */
    if (sites->count)
        summarise_names(L, sites, named);
    summarise_leaves(L, sites);
    summarise_reentries(L, sites);
    core_set_number(L, "count", (lua_Number)sites->count);
    core_set_number(L, "slid", sites_slid(sites));
    core_set_boolean(L, "at_entry", at_entry);
    core_set_boolean(L, "of_go", sites->count && sites->items[0].of_go);
    core_set_string(L, "other", other);
    return 1;
}

/* Pushes ARGUMENT as sites:parameters and sites:result have it. */
static void push_argument(lua_State *L, const struct argument *argument)
{
    static const char *const kinds[] = {
        [ARGUMENT_INTEGER] = "integer",
        [ARGUMENT_BOOLEAN] = "boolean",
        [ARGUMENT_POINTER] = "pointer",
        [ARGUMENT_OBJECT] = "object",
    };
    static const char *const passed[] = {
        [ARGUMENT_IN_WORDS] = "words", [ARGUMENT_AT_ADDRESS] = "address", [ARGUMENT_REFERRED] = "referred"};
    lua_createtable(L, 0, 5); /* argument */
    core_set_string(L, "name", argument->name);
    core_set_string(L, "kind", kinds[argument->kind]);
    core_set_string(L, "place", argument->parts ? "parts" : argument->place == ARGUMENT_NOWHERE ? "nowhere" : NULL);
    core_set_string(L, "type", argument->type);
    core_set_number(L, "bits", argument->bits);
    core_set_number(L, "debug", argument->debug);
    if (argument->passed) {
        core_set_string(L, "passed", passed[argument->passed]);
        core_set_string(L, "length", argument->length);
        core_set_number(L, "first", argument->first);
        core_set_number(L, "size", argument->size);
    }
}

/* sites:result() → what the functions return, as one of their parameters, place = "nowhere" where that is nothing or no
 * word; nil and the reason where it is not known, or not the same */
static int sites_result(lua_State *L)
{
    struct lua_sites *self = luaL_checkudata(L, 1, SITES);
    struct argument result = {0};
    struct error err = {0};
    self->arena.exhausted = core_no_memory;
    self->arena.context = L;
    if (parameters_result(&self->sites, &self->arena, &result, &err))
        return core_absent(L, &err);
    push_argument(L, &result);
    return 1;
}

/* Sites in groups. */
struct result_groups {
    size_t *of; /* of each site, the number of its group */
    struct result_group *groups;
    size_t count;
};

/* Divides COUNT functions that return RESULTS. Its memory is userdata, which it pushes. */
static struct result_groups divide(lua_State *L, const struct function_result *results, size_t count)
{
    struct result_groups divided = {
        .of = lua_newuserdata(L, (count + 1) * sizeof *divided.of),
        .groups = lua_newuserdata(L, (count + 1) * sizeof *divided.groups), /* most of which nobody touches */
    };
    divided.count = result_groups_divide(results, count, divided.of, divided.groups);
    return divided;
}

/* Moves SITES into objects of their groups, which it sets as `sites` in the tables of the list on the top. */
static void move_sites(lua_State *L, struct sites *sites, struct result_groups *divided)
{
    struct lua_sites **owners = lua_newuserdata(L, divided->count * sizeof *owners); /* list owners */
    for (size_t n = 0; n < divided->count; n++) {
        const struct result_group *group = &divided->groups[n];
        lua_rawgeti(L, -2, (int)n + 1); /* list owners one */
        owners[n] = core_new_object(L, sizeof **owners, SITES);
        owners[n]->sites.items = calloc(group->count, sizeof *sites->items);
        if (!owners[n]->sites.items)
            luaL_error(L, "out of memory");
        lua_setfield(L, -2, "sites");
        lua_pop(L, 1); /* list owners */
    }
    for (size_t i = 0; i < sites->count; i++) {
        struct sites *to = &owners[divided->of[i]]->sites;
        to->items[to->count++] = sites->items[i];
    }
    sites->count = 0;
    lua_pop(L, 1); /* list */
}

/* Pushes a list of { function, TEXT = … } of those of SITES that TEXT_OF says something of: a function once. */
static void push_noted(lua_State *L, const struct sites *sites, const struct function_result *results, bool known)
{
    int count = 0;
    lua_newtable(L); /* list */
    for (size_t i = 0; i < sites->count; i++) {
        const struct function_result *result = &results[i];
        const char *text = known && !result->why && result->type.place == ARGUMENT_NOWHERE ? result->type.type : NULL;
        if (!known)
            text = result->why;
        if (!text || sites->items[i].is_exit)
            continue;
        lua_createtable(L, 0, 2); /* list one */
        push_name(L, &sites->items[i]);
        lua_setfield(L, -2, "function");
        core_set_string(L, known ? "type" : "why", text);
        lua_rawseti(L, -2, ++count);
    }
}

/* What the functions of the sites at index 1 return. It pushes memory. */
static const struct function_result *find_results(lua_State *L, struct lua_sites *self)
{
    struct function_result *results = lua_newuserdata(L, (self->sites.count + 1) * sizeof *results);
    self->arena.exhausted = core_no_memory;
    self->arena.context = L;
    parameters_results(&self->sites, &self->arena, results);
    return results;
}

/*
 * sites:by_result() → { { sites, bits, none }, … }: groups of functions, by the bits of e.ret that count, negative if
 * signed, 0: all; none: what those return, as "double" or "void", is no integer. Where there are several the sites move
 * into them. And lists of the functions that return none, { { function, type }, … }, and of those whose types nobody
 * knows, { { function, why }, … }
 */
static int sites_by_result(lua_State *L)
{
    struct lua_sites *self = luaL_checkudata(L, 1, SITES);
    lua_settop(L, 1);
    const struct function_result *results = find_results(L, self);        /* sites results */
    struct result_groups divided = divide(L, results, self->sites.count); /* sites results of groups */
    lua_createtable(L, (int)divided.count, 0);                            /* … list */
    for (size_t n = 0; n < divided.count; n++) {
        lua_createtable(L, 0, 3); /* … list group */
        core_set_number(L, "bits", divided.groups[n].bits);
        core_set_string(L, "none", divided.groups[n].none);
        if (divided.count == 1) {
            lua_pushvalue(L, 1);
            lua_setfield(L, -2, "sites");
        }
        lua_rawseti(L, -2, (int)n + 1);
    }
    push_noted(L, &self->sites, results, true);  /* … list nothing */
    push_noted(L, &self->sites, results, false); /* … list nothing unknown */
    if (divided.count > 1) {
        lua_pushvalue(L, -3);
        move_sites(L, &self->sites, &divided);
        lua_pop(L, 1);
    }
    return 3;
}

/* sites:results() → what the function of each site returns, as sites:result has it; false where nobody knows that */
static int sites_results(lua_State *L)
{
    struct lua_sites *self = luaL_checkudata(L, 1, SITES);
    const struct function_result *results = find_results(L, self);
    lua_createtable(L, (int)self->sites.count, 0); /* list */
    for (size_t i = 0; i < self->sites.count; i++) {
        if (results[i].why)
            lua_pushboolean(L, false);
        else
            push_argument(L, &results[i].type);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

/* Pushes LIST as a table of what push_argument pushes. */
static int push_arguments(lua_State *L, const struct argument *list, size_t count)
{
    lua_createtable(L, (int)count, 0); /* list */
    for (size_t i = 0; i < count; i++) {
        push_argument(L, &list[i]); /* list argument */
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

/*
 * sites:parameters([at_return]) → { { name (or nil), kind = "integer" | "boolean" | "pointer", place = "nowhere" (or
 * nil), bits, type, debug = the type's number (types.debug), passed = "words" | "address" of a struct that is passed by
 * value, as e.arg FIRST and those that follow or at that address, size }, … }: the functions' e.args, in their order;
 * nil and the reason where they are not known
 */
static int sites_parameters(lua_State *L)
{
    struct lua_sites *self = luaL_checkudata(L, 1, SITES);
    const struct argument *arguments = NULL;
    struct error err = {0};
    size_t count = 0;
    self->arena.exhausted = core_no_memory;
    self->arena.context = L;
    if (parameters_find(&self->sites, lua_toboolean(L, 2), &self->arena, &arguments, &count, &err))
        return core_absent(L, &err);
    return push_arguments(L, arguments, count);
}

/* sites:variables() → e.vars of a handler there, the innermost scopes' first, in the same form; one may be an "object"
 */
static int sites_variables(lua_State *L)
{
    struct lua_sites *self = luaL_checkudata(L, 1, SITES);
    const struct argument *variables = NULL;
    struct error err = {0};
    size_t count = 0;
    self->arena.exhausted = core_no_memory;
    self->arena.context = L;
    if (locals_find(&self->sites, luaL_optstring(L, 2, NULL), &self->arena, &variables, &count, &err))
        return core_absent(L, &err);
    return push_arguments(L, variables, count);
}

/* sites:distance() → the bytes by which all together have slid: less than before if some stand at their entries again
 */
static int sites_distance(lua_State *L)
{
    const struct sites *sites = luaL_checkudata(L, 1, SITES);
    lua_Integer slid = 0;
    for (size_t i = 0; i < sites->count; i++)
        slid += sites->items[i].slid;
    return core_push_number(L, slid);
}

/* sites:inlined() → how many of the functions are also inlined into others, at how many places, and of one of these the
 * function's name and the line that begins there, "main.c:12" ("": not known) */
static int sites_inlined_places(lua_State *L)
{
    struct inlined inlined;
    if (sites_inlined(luaL_checkudata(L, 1, SITES), &inlined))
        return luaL_error(L, "out of memory");
    lua_pushinteger(L, (lua_Integer)inlined.functions);
    lua_pushinteger(L, (lua_Integer)inlined.places);
    if (!inlined.functions)
        return 2;
    push_name(L, inlined.example);
    lua_pushstring(L, inlined.line);
    return 4;
}

/* sites:entries() → { stepped = how many of them the kernel steps, emulated, replaced } (enum entry) */
static int sites_entries(lua_State *L)
{
    const struct lua_sites *self = luaL_checkudata(L, 1, SITES);
    unsigned counts[ENTRIES] = {0};
    for (size_t i = 0; i < self->sites.count; i++)
        counts[self->sites.items[i].entry]++;
    lua_createtable(L, 0, ENTRIES); /* entries */
    core_set_number(L, "stepped", counts[ENTRY_STEPPED]);
    core_set_number(L, "emulated", counts[ENTRY_EMULATED]);
    core_set_number(L, "replaced", counts[ENTRY_REPLACED]);
    return 1;
}

/* sites:expect_all(): those stand at their entries again where anything is not as it was there that a caller, or a
 * program that nobody has looked into, may want */
static int sites_expect_all(lua_State *L)
{
    struct lua_sites *self = luaL_checkudata(L, 1, SITES);
    struct entry_reads reads = {.registers = UINT64_MAX, .memory = true, .returns = true};
    struct entry_stand stand;
    const char *name;
    for (unsigned i = 0; (name = arch_register_name(i)); i++)
        if (arch_register_may_change(arch_register(name)))
            reads.registers &= ~(UINT64_C(1) << arch_register(name) / 8);
    self->arena.exhausted = core_no_memory;
    self->arena.context = L;
    slide_settle(&self->sites, &reads, &self->arena, &stand);
    sites_forget_reentries(&self->sites);
    for (size_t i = 0; i < self->sites.count; i++)
        if (self->sites.items[i].shape || self->sites.items[i].moved)
            site_stay(&self->sites.items[i]);
    return 0;
}

/* sites:emulated(arguments, returns) → at how many of the functions' entries or behind them a handler that reads the
 * first so many arguments costs no step, and how many functions there are. RETURNS: a return handler */
static int sites_emulated(lua_State *L)
{
    const struct sites *sites = luaL_checkudata(L, 1, SITES);
    struct entry_reads reads = {.returns = lua_toboolean(L, 3)};
    for (unsigned i = 0; i < (unsigned)luaL_checkinteger(L, 2); i++)
        reads.registers |= UINT64_C(1) << arch_argument(i) / 8;
    lua_pushinteger(L, (lua_Integer)slide_count(sites, &reads));
    lua_pushinteger(L, (lua_Integer)sites->count);
    return 2;
}

static int sites_gc(lua_State *L)
{
    struct lua_sites *self = luaL_checkudata(L, 1, SITES);
    arena_free(&self->arena);
    probe_sites_free(&self->sites);
    return 0;
}

void sites_open_lua(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"list", sites_list},
        {"summary", sites_summary},
        {"files", sites_files},
        {"parameters", sites_parameters},
        {"variables", sites_variables},
        {"result", sites_result},
        {"results", sites_results},
        {"by_result", sites_by_result},
        {"claim", sites_claim},
        {"distance", sites_distance},
        {"emulated", sites_emulated},
        {"entries", sites_entries},
        {"inlined", sites_inlined_places},
        {"expect_all", sites_expect_all},
        {NULL, NULL},
    };
    core_new_class(L, SITES, methods, sites_gc);
}
