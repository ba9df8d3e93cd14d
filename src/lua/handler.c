/* Handlers and their probes' arguments, as lua/uplua/probe/handler.lua describes them in tables, for the compiler. */
#include "lua/handler.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/core.h"
#include "lua/sites.h"

static const char *string_field(lua_State *L, int index, const char *name, struct arena *arena)
{
    lua_getfield(L, index, name);
    size_t length = 0;
    const char *text = lua_tolstring(L, -1, &length);
    text = arena_string(arena, text ? text : "", length);
    lua_pop(L, 1);
    return text;
}

/* The field `names` of the table on the top, a list of strings. */
static void read_names(lua_State *L, struct handler *handler, struct arena *arena)
{
    lua_getfield(L, -1, "names"); /* names */
    if (lua_istable(L, -1)) {
        handler->name_count = lua_objlen(L, -1);
        const char **names = arena_allocate(arena, (handler->name_count + 1) * sizeof *names);
        for (size_t i = 0; i < handler->name_count; i++) {
            lua_rawgeti(L, -1, (int)i + 1);
            size_t length = 0;
            const char *name = lua_tolstring(L, -1, &length);
            names[i] = arena_string(arena, name ? name : "", length);
            lua_pop(L, 1);
        }
        handler->names = names;
    }
    lua_pop(L, 1);
}

/* The number of WORD in COUNT WORDS; COUNT where it is none of them. */
static int index_of(const char *word, const char *const *words, int count)
{
    int i = 0;
    while (i < count && strcmp(words[i], word))
        i++;
    return i;
}

static uint64_t read_u64(const char *text)
{
    return *text == '-' ? (uint64_t)strtoll(text, NULL, 0) : strtoull(text, NULL, 0);
}

/* One entry of probe.arguments (lua/uplua/probe/handler.lua), at the top of the stack. */
static struct argument read_argument(lua_State *L, struct arena *arena)
{
    static const char *const places[] = {
        [ARGUMENT_CONTEXT] = "context",     [ARGUMENT_MEMORY] = "memory",   [ARGUMENT_DATA_LOC] = "data_loc",
        [ARGUMENT_REGISTERS] = "registers", [ARGUMENT_REL_LOC] = "rel_loc", [ARGUMENT_CONSTANT] = "constant",
        [ARGUMENT_NOWHERE] = "nowhere",
    };
    static const char *const kinds[] = {
        [ARGUMENT_INTEGER] = "integer", [ARGUMENT_BOOLEAN] = "boolean", [ARGUMENT_POINTER] = "pointer",
        [ARGUMENT_STRING] = "string",   [ARGUMENT_ARRAY] = "array",
    };
    int at = lua_gettop(L);
    const char *name = string_field(L, at, "name", arena), *type = string_field(L, at, "type", arena);
    struct argument argument = {
        .name = *name ? name : NULL,
        .place = (enum argument_place)index_of(string_field(L, at, "place", arena), places, ARGUMENT_NOWHERE),
        .offset = (int64_t)core_number_field(L, at, "offset"),
        .base = (uint32_t)core_number_field(L, at, "base"),
        .index = (uint32_t)core_number_field(L, at, "index"),
        .index_bits = (int)core_number_field(L, at, "index_bits"),
        .shift = (unsigned)core_number_field(L, at, "shift"),
        .number = read_u64(string_field(L, at, "number", arena)),
        .kind = (enum argument_kind)(index_of(string_field(L, at, "kind", arena), kinds, ARGUMENT_ARRAY + 1) %
                                     (ARGUMENT_ARRAY + 1)),
        .bits = (int)core_number_field(L, at, "bits"),
        .size = (uint32_t)core_number_field(L, at, "size"),
        .type = *type ? type : NULL,
        .btf = (uint32_t)core_number_field(L, at, "btf"),
        .kernel = core_boolean_field(L, at, "kernel"),
    };
    return argument;
}

static void read_arguments(lua_State *L, int index, struct arena *arena, struct handler *handler)
{
    lua_getfield(L, index, "arguments"); /* arguments */
    handler->argument_count = lua_istable(L, -1) ? lua_objlen(L, -1) : 0;
    struct argument *arguments = arena_allocate(arena, (handler->argument_count + 1) * sizeof *arguments);
    for (size_t i = 0; i < handler->argument_count; i++) {
        lua_rawgeti(L, -1, (int)i + 1); /* arguments argument */
        arguments[i] = read_argument(L, arena);
        lua_pop(L, 1);
    }
    handler->arguments = arguments;
    lua_pop(L, 1);
}

/* The kind of entry that all of SITES have; -1: they differ, or it is not known yet. */
static int entry_of(const struct sites *sites)
{
    int entry = sites && sites->count ? (int)sites->items[0].entry : -1;
    for (size_t i = 1; sites && i < sites->count; i++)
        if ((int)sites->items[i].entry != entry)
            entry = -1;
    return entry;
}

struct handler *handlers_read(lua_State *L, int index, struct arena *arena, size_t *count)
{
    *count = lua_objlen(L, index);
    struct handler *handlers = arena_allocate(arena, (*count + 1) * sizeof *handlers);
    for (size_t i = 0; i < *count; i++) {
        lua_rawgeti(L, index, (int)i + 1); /* handler */
        struct handler *handler = &handlers[i];
        const char *kind = string_field(L, -1, "kind", arena);
        handler->provider = provider_find(kind);
        if (!handler->provider)
            luaL_error(L, "no such kind of probe: %s", kind);
        handler->probe = string_field(L, -1, "probe", arena);
        handler->symbol = string_field(L, -1, "symbol", arena);
        read_names(L, handler, arena);
        handler->at_entry = core_boolean_field(L, lua_gettop(L), "at_entry");
        handler->of_go = core_boolean_field(L, lua_gettop(L), "of_go");
        handler->by_instruction = core_boolean_field(L, lua_gettop(L), "by_instruction");
        handler->slid = (int)core_number_field(L, lua_gettop(L), "slid");
        handler->value_bits = (unsigned)core_number_field(L, lua_gettop(L), "value_bits");
        handler->result_bits = (int)core_number_field(L, lua_gettop(L), "result_bits");
        handler->raw = core_boolean_field(L, lua_gettop(L), "raw");
        handler->unfiltered = core_boolean_field(L, lua_gettop(L), "unfiltered");
        handler->of_processes = core_boolean_field(L, lua_gettop(L), "of_processes");
        handler->user_memory = core_boolean_field(L, lua_gettop(L), "user_memory");
        handler->function = (int)core_number_field(L, lua_gettop(L), "handle");
        read_arguments(L, lua_gettop(L), arena, handler);
        lua_getfield(L, -1, "functions"); /* handler functions */
        handler->sites = sites_at(L, -1);
        handler->entry = entry_of(handler->sites);
        lua_pop(L, 1);
        lua_pop(L, 1);
    }
    return handlers;
}
