/* Handlers and their probes' arguments, as lua/uplua/probe/handler.lua describes them in tables, for the compiler. */
#include "lua/handler.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/core.h"
#include "lua/sites.h"

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
    const char *name = core_string_field_in(L, at, "name", arena), *type = core_string_field_in(L, at, "type", arena);
    struct argument argument = {
        .name = *name ? name : NULL,
        .place = (enum argument_place)index_of(core_string_field_in(L, at, "place", arena), places, ARGUMENT_NOWHERE),
        .offset = (int64_t)core_number_field(L, at, "offset"),
        .base = (uint32_t)core_number_field(L, at, "base"),
        .index = (uint32_t)core_number_field(L, at, "index"),
        .index_bits = (int)core_number_field(L, at, "index_bits"),
        .shift = (unsigned)core_number_field(L, at, "shift"),
        .number = read_u64(core_string_field_in(L, at, "number", arena)),
        .kind = (enum argument_kind)(index_of(core_string_field_in(L, at, "kind", arena), kinds, ARGUMENT_ARRAY + 1) %
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

struct handler *handlers_read(lua_State *L, int index, struct arena *arena, size_t *count)
{
    *count = lua_objlen(L, index);
    struct handler *handlers = arena_allocate(arena, (*count + 1) * sizeof *handlers);
    for (size_t i = 0; i < *count; i++) {
        lua_rawgeti(L, index, (int)i + 1); /* handler */
        struct handler *handler = &handlers[i];
        const char *kind = core_string_field_in(L, -1, "kind", arena);
        handler->provider = provider_find(kind);
        if (!handler->provider)
            luaL_error(L, "no such kind of probe: %s", kind);
        handler->probe = core_string_field_in(L, -1, "probe", arena);
        handler->symbol = core_string_field_in(L, -1, "symbol", arena);
        handler->names = core_strings_field_in(L, -1, "names", arena, &handler->name_count);
        handler->at_entry = core_boolean_field(L, -1, "at_entry");
        handler->of_go = core_boolean_field(L, -1, "of_go");
        handler->by_instruction = core_boolean_field(L, -1, "by_instruction");
        handler->stand.slid = (int)core_number_field(L, -1, "slid");
        handler->stand.entry = -1;
        handler->value_bits = (unsigned)core_number_field(L, -1, "value_bits");
        handler->result_bits = (int)core_number_field(L, -1, "result_bits");
        handler->no_result = core_string_field_in(L, -1, "no_result", arena);
        handler->maybe_no_result = core_boolean_field(L, -1, "maybe_no_result");
        handler->state = (size_t)core_number_field(L, -1, "state");
        handler->version = (uint32_t)core_number_field(L, -1, "version");
        handler->raw = core_boolean_field(L, -1, "raw");
        handler->call = (int)core_number_field(L, -1, "call");
        handler->unfiltered = core_boolean_field(L, -1, "unfiltered");
        handler->of_processes = core_boolean_field(L, -1, "of_processes");
        handler->of_every_cpu = core_boolean_field(L, -1, "of_every_cpu");
        handler->no_registers = core_boolean_field(L, -1, "no_registers");
        handler->user_memory = core_boolean_field(L, -1, "user_memory");
        handler->of_kernel = core_boolean_field(L, -1, "of_kernel");
        handler->function = (int)core_number_field(L, -1, "handle");
        read_arguments(L, lua_gettop(L), arena, handler);
        lua_getfield(L, -1, "functions"); /* handler functions */
        handler->sites = sites_at(L, -1);
        if (handler->sites) /* a handler that the probe had before may have moved them back */
            handler->stand.slid = sites_slid(handler->sites);
        lua_pop(L, 1);
        lua_pop(L, 1);
    }
    return handlers;
}
