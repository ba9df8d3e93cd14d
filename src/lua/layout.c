/* Types of the compiler as layouts of the script side, and Lua values as types. */
#include "lua/layout.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/core.h"

static void push_field(lua_State *L, const struct field *field)
{
    lua_createtable(L, 0, 4); /* field */
    if (field->name)
        core_set_string(L, "name", field->name);
    else
        core_set_number(L, "name", field->index);
    core_set_number(L, "offset", (int)field->offset);
    layout_push(L, field->type);
    lua_setfield(L, -2, "layout");
    if (field->presence >= 0)
        core_set_number(L, "presence", field->presence);
}

/* Makes the layout on the stack that of ARRAY. */
static void push_array(lua_State *L, const struct record *array)
{
    struct type element = array->fields[0].type;
    for (size_t i = 1; i < array->field_count; i++)
        element.sign = array->fields[i].type.sign > element.sign ? array->fields[i].type.sign : element.sign;
    core_set_string(L, "kind", "array");
    core_set_number(L, "count", (int)array->field_count);
    core_set_number(L, "offset", (int)array->fields[0].offset);
    layout_push(L, element);
    lua_setfield(L, -2, "element");
    if (array->presence >= 0)
        core_set_number(L, "presence", array->presence);
}

void layout_push(lua_State *L, struct type type)
{
    static const char *const kinds[] = {
        [TYPE_NONE] = "i64",      [TYPE_NIL] = "i64",    [TYPE_BOOLEAN] = "bool",  [TYPE_NUM] = "i64",
        [TYPE_I64] = "i64",       [TYPE_U64] = "u64",    [TYPE_STRING] = "string", [TYPE_STACK] = "stack",
        [TYPE_RECORD] = "record", [TYPE_STATIC] = "i64", [TYPE_POINTER] = "u64",
    };
    luaL_checkstack(L, 8, "layout");
    lua_createtable(L, 0, 4); /* layout */
    bool scalar = type_is_number(type) || type.kind == TYPE_BOOLEAN;
    const char *kind = type.kind == TYPE_I64 && type.sign == SIGN_UNSIGNED ? "u64" : kinds[type.kind];
    core_set_string(L, "kind", type.declared && scalar ? type_declared_name(type) : type.bytes ? "bytes" : kind);
    core_set_number(L, "size", (int)type_size(type));
    if (type.kind != TYPE_RECORD)
        return;
    const struct record *record = record_of(type.record);
    if (record->symbol) {
        core_set_string(L, "kind", "symbol");
        return;
    }
    if (record->indexed && record->field_count) {
        push_array(L, record);
        return;
    }
    lua_createtable(L, (int)record->field_count, 0); /* layout fields */
    for (size_t i = 0; i < record->field_count; i++) {
        push_field(L, &record->fields[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_setfield(L, -2, "fields");
    if (record->presence >= 0)
        core_set_number(L, "presence", record->presence);
}

static struct type record_of_table(lua_State *L, int index, struct arena *arena)
{
    struct type type = {.kind = TYPE_RECORD, .record = record_new(arena)};
    bool changed = false;
    luaL_checkstack(L, 8, "record");
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) { /* key value */
        size_t length = 0;
        const char *name = NULL;
        int position = 0;
        if (lua_type(L, -2) == LUA_TSTRING) {
            name = lua_tolstring(L, -2, &length);
            name = arena_string(arena, name, length);
        } else {
            position = (int)lua_tointeger(L, -2);
        }
        record_join_field(arena, type.record, name, position, layout_type_of(L, lua_gettop(L), arena), &changed);
    }
    return type;
}

/* The sign of the int64_t or uint64_t at INDEX, which only its text tells: "-1LL", "1ULL". */
static enum sign sign_of_cdata(lua_State *L, int index)
{
    if (!luaL_callmeta(L, index, "__tostring"))
        return SIGN_SIGNED;
    const char *text = lua_tostring(L, -1); /* text */
    enum sign sign = strstr(text, "ULL") ? SIGN_UNSIGNED : *text == '-' ? SIGN_SIGNED : SIGN_OPEN;
    lua_pop(L, 1);
    return sign;
}

struct type layout_type_of(lua_State *L, int index, struct arena *arena)
{
    enum { CDATA = 10 }; /* LuaJIT's lua_type of int64_t and uint64_t boxes */
    switch (lua_type(L, index)) {
    case LUA_TNUMBER:
        return (struct type){.kind = TYPE_I64, .sign = lua_tonumber(L, index) < 0 ? SIGN_SIGNED : SIGN_OPEN};
    case CDATA:
        return (struct type){.kind = TYPE_I64, .sign = sign_of_cdata(L, index)};
    case LUA_TBOOLEAN:
        return (struct type){.kind = TYPE_BOOLEAN};
    case LUA_TSTRING:
        return (struct type){.kind = TYPE_STRING, .capacity = (uint32_t)(lua_objlen(L, index) + 8) & ~7u};
    case LUA_TTABLE:
        return record_of_table(L, index, arena);
    default:
        luaL_error(L, "a %s cannot be stored in a map", luaL_typename(L, index));
        return (struct type){.kind = TYPE_NIL};
    }
}

/* A declared array, which is the record of its elements. */
static struct record *read_array(lua_State *L, int index, struct arena *arena)
{
    struct record *array = record_new(arena);
    lua_getfield(L, index, "element"); /* element */
    struct type element = layout_read(L, lua_gettop(L), arena);
    lua_pop(L, 1);
    int count = (int)core_number_field(L, index, "count");
    for (int i = 1; i <= count; i++) {
        struct field *field = record_add_field(arena, array, NULL, i);
        field->type = element;
        field->offset = (uint32_t)(i - 1) * type_size(element);
    }
    array->size = (uint32_t)core_number_field(L, index, "size");
    array->frozen = array->declared = array->indexed = true;
    return array;
}

static struct record *read_record(lua_State *L, int index, struct arena *arena)
{
    struct record *record = record_new(arena);
    lua_getfield(L, index, "fields"); /* fields */
    for (size_t i = 1; i <= lua_objlen(L, -1); i++) {
        lua_rawgeti(L, -1, (int)i);    /* fields field */
        lua_getfield(L, -1, "name");   /* fields field name */
        lua_getfield(L, -2, "layout"); /* fields field name layout */
        size_t length = 0;
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tolstring(L, -2, &length) : NULL;
        int position = name ? 0 : (int)lua_tointeger(L, -2);
        struct field *field =
            record_add_field(arena, record, name ? arena_string(arena, name, length) : NULL, position);
        field->offset = (uint32_t)core_number_field(L, lua_gettop(L) - 2, "offset");
        struct type type = layout_read(L, lua_gettop(L), arena);
        record_field(record, name, position)->type = type;
        lua_pop(L, 3);
    }
    lua_pop(L, 1);
    record->size = (uint32_t)core_number_field(L, index, "size");
    record->frozen = record->declared = true;
    return record;
}

struct type layout_read(lua_State *L, int index, struct arena *arena)
{
    struct type type = {.kind = TYPE_I64, .declared = true};
    luaL_checkstack(L, 8, "layout");
    lua_getfield(L, index, "kind"); /* kind */
    const char *kind = lua_tostring(L, -1);
    if (!kind)
        luaL_error(L, "not a layout");
    if (!strcmp(kind, "record") || !strcmp(kind, "array")) {
        type.kind = TYPE_RECORD;
        type.record = *kind == 'a' ? read_array(L, index, arena) : read_record(L, index, arena);
    } else if (!strcmp(kind, "string") || !strcmp(kind, "bytes")) {
        type.kind = TYPE_STRING;
        type.bytes = *kind == 'b';
        type.capacity = (uint32_t)core_number_field(L, index, "size");
    } else if (!strcmp(kind, "bool") || !strcmp(kind, "stack")) {
        type.kind = *kind == 'b' ? TYPE_BOOLEAN : TYPE_STACK;
    } else { /* "i8" … "u64" */
        int bits = atoi(kind + 1);
        type.kind = *kind == 'u' && bits == 64 ? TYPE_U64 : TYPE_I64;
        type.bits = (int8_t)(bits == 64 ? 0 : *kind == 'u' ? bits : -bits);
    }
    lua_pop(L, 1);
    return type;
}
