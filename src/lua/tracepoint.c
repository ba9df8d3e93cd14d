/* tracepoint: the kernel's tracepoints and the fields of their records. */
#include "probe/attach/tracepoint.h"

#include <lauxlib.h>
#include <stdlib.h>

#include "lua/core.h"
#include "lua/link.h"

#define TRACEPOINT "uplua.tracepoint"

struct lua_tracepoint {
    struct tracepoint *tracepoint;
};

static struct tracepoint *check_tracepoint(lua_State *L)
{
    const struct lua_tracepoint *self = luaL_checkudata(L, 1, TRACEPOINT);
    return self->tracepoint;
}

/* tracepoint.find(spec) → tracepoint; raises the reason where there is none */
static int tracepoint_find_lua(lua_State *L)
{
    const char *spec = luaL_checkstring(L, 1);
    struct lua_tracepoint *self = lua_newuserdata(L, sizeof *self); /* self */
    struct error err = {0};
    self->tracepoint = NULL;
    luaL_getmetatable(L, TRACEPOINT);
    lua_setmetatable(L, -2);
    return tracepoint_find(spec, &self->tracepoint, &err) ? core_raise(L, &err) : 1;
}

/* tracepoint.match(pattern) → { "sched:sched_switch", … }; raises the reason where there is none */
static int tracepoint_match_lua(lua_State *L)
{
    struct error err = {0};
    char **names = NULL;
    size_t count = 0;
    if (tracepoint_match(luaL_checkstring(L, 1), &names, &count, &err))
        return core_raise(L, &err);
    lua_createtable(L, (int)count, 0); /* list */
    for (size_t i = 0; i < count; i++) {
        lua_pushstring(L, names[i]);
        lua_rawseti(L, -2, (int)i + 1);
        free(names[i]);
    }
    free(names);
    return 1;
}

static void set_integer(lua_State *L, const char *name, lua_Integer value)
{
    lua_pushinteger(L, value);
    lua_setfield(L, -2, name);
}

static void set_boolean(lua_State *L, const char *name, bool value)
{
    lua_pushboolean(L, value);
    lua_setfield(L, -2, name);
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
        lua_pushstring(L, field->name);
        lua_setfield(L, -2, "name");
        lua_pushstring(L, field->type);
        lua_setfield(L, -2, "type");
        lua_pushstring(L, places[field->where]);
        lua_setfield(L, -2, "where");
        set_integer(L, "offset", (lua_Integer)field->offset);
        set_integer(L, "size", (lua_Integer)field->size);
        set_integer(L, "count", (lua_Integer)field->count);
        set_integer(L, "element", (lua_Integer)field->element);
        set_boolean(L, "signed", field->is_signed);
        set_boolean(L, "common", field->common);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

/* tracepoint:id() → its number in this kernel */
static int tracepoint_id(lua_State *L)
{
    lua_pushnumber(L, (lua_Number)check_tracepoint(L)->id);
    return 1;
}

/* tracepoint:attach(program) → link; raises the reason */
static int tracepoint_attach_lua(lua_State *L)
{
    const struct tracepoint *self = check_tracepoint(L);
    int program = (int)luaL_checkinteger(L, 2);
    struct error err = {0};
    return tracepoint_attach(program, self, link_push(L), &err) ? core_raise(L, &err) : 1;
}

static int tracepoint_gc(lua_State *L)
{
    struct lua_tracepoint *self = luaL_checkudata(L, 1, TRACEPOINT);
    tracepoint_free(self->tracepoint);
    self->tracepoint = NULL;
    return 0;
}

int tracepoint_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"find", tracepoint_find_lua},
        {"match", tracepoint_match_lua},
        {NULL, NULL},
    };
    static const luaL_Reg methods[] = {
        {"fields", tracepoint_fields},
        {"id", tracepoint_id},
        {"attach", tracepoint_attach_lua},
        {NULL, NULL},
    };
    core_new_class(L, TRACEPOINT, methods, tracepoint_gc);
    lua_newtable(L);
    luaL_register(L, NULL, functions);
    return 1;
}
