/* tracepoint: the kernel's tracepoints and the fields of their records. */
#include "probe/attach/tracepoint.h"

#include <lauxlib.h>

#include "lua/core.h"
#include "lua/link.h"

#define TRACEPOINT "uplua.tracepoint"

CORE_HANDLE(tracepoint, TRACEPOINT, tracepoint_free)

/* tracepoint.find(spec) → tracepoint; raises the reason where there is none */
static int tracepoint_find_lua(lua_State *L)
{
    const char *spec = luaL_checkstring(L, 1);
    struct tracepoint **self = core_new_object(L, sizeof *self, TRACEPOINT); /* self */
    struct error err = {0};
    return tracepoint_find(spec, self, &err) ? core_raise(L, &err) : 1;
}

/* tracepoint.of_types(spec) → tracepoint, of which only the fields are known, nil: the kernel's types do not tell them
 */
static int tracepoint_of_types_lua(lua_State *L)
{
    const char *spec = luaL_checkstring(L, 1);
    struct tracepoint **self = core_new_object(L, sizeof *self, TRACEPOINT); /* self */
    return tracepoint_of_types(spec, self) ? 0 : 1;
}

/* tracepoint.match(pattern) → { "sched:sched_switch", … }; raises the reason where there is none */
static int tracepoint_match_lua(lua_State *L)
{
    struct error err = {0};
    char **names = NULL;
    size_t count = 0;
    if (tracepoint_match(luaL_checkstring(L, 1), &names, &count, &err))
        return core_raise(L, &err);
    return core_push_strings(L, names, count);
}

/* tracepoint:fields() → { { name, type, offset, size, signed, common, count, element, where }, … }: struct
 * tracepoint_field */
static int tracepoint_fields(lua_State *L)
{
    static const char *const places[] = {
        [FIELD_HERE] = "here", [FIELD_DATA_LOC] = "data_loc", [FIELD_REL_LOC] = "rel_loc"};
    const struct tracepoint *self = check_tracepoint(L);
    lua_createtable(L, (int)self->field_count, 0); /* list */
    for (size_t i = 0; i < self->field_count; i++) {
        const struct tracepoint_field *field = &self->fields[i];
        lua_createtable(L, 0, 9); /* list field */
        core_set_string(L, "name", field->name);
        core_set_string(L, "type", field->type);
        core_set_string(L, "where", places[field->where]);
        core_set_number(L, "offset", (lua_Integer)field->offset);
        core_set_number(L, "size", (lua_Integer)field->size);
        core_set_number(L, "count", (lua_Integer)field->count);
        core_set_number(L, "element", (lua_Integer)field->element);
        core_set_boolean(L, "signed", field->is_signed);
        core_set_boolean(L, "common", field->common);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

/* tracepoint:id() → its number in this kernel */
static int tracepoint_id(lua_State *L)
{
    return core_push_number(L, (lua_Number)check_tracepoint(L)->id);
}

/* tracepoint:attach(program[, cookie]) → link; raises the reason */
static int tracepoint_attach_lua(lua_State *L)
{
    const struct tracepoint *self = check_tracepoint(L);
    int program = (int)luaL_checkinteger(L, 2);
    uint64_t cookie = (uint64_t)luaL_optinteger(L, 3, 0);
    struct error err = {0};
    return tracepoint_attach(program, cookie, self, link_push(L), &err) ? core_raise(L, &err) : 1;
}

int tracepoint_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"find", tracepoint_find_lua},
        {"of_types", tracepoint_of_types_lua},
        {"match", tracepoint_match_lua},
        {NULL, NULL},
    };
    static const luaL_Reg methods[] = {
        {"fields", tracepoint_fields},
        {"id", tracepoint_id},
        {"attach", tracepoint_attach_lua},
        {NULL, NULL},
    };
    core_new_class(L, TRACEPOINT, methods, close_tracepoint);
    return core_functions(L, functions);
}
