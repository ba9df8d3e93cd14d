/* types: what debug information and the kernel's BTF say of types, for what shows values. */
#include <lauxlib.h>
#include <stdio.h>

#include "lua/core.h"
#include "probe/module/binary.h"
#include "probe/module/debug.h"
#include "probe/module/module.h"
#include "sym/debugtypes.h"
#include "sym/debugvariable.h"
#include "sys/kernel_types.h"

enum { DEEPEST = 32 }; /* structs without names in structs */

/* Pushes a field, all but its type. */
static void push_field(lua_State *L, const char *name, uint64_t offset, int first_bit, int bits)
{
    lua_createtable(L, 0, 5); /* field */
    core_set_string(L, "name", name);
    core_set_number(L, "offset", (lua_Number)offset);
    if (bits) {
        core_set_number(L, "first_bit", first_bit);
        core_set_number(L, "bits", bits);
    }
}

/* Sets the field 'type' of the field on the top, and puts that behind the last one of the list below. */
static void append_field(lua_State *L, uint32_t type)
{
    core_set_number(L, "type", type);
    lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
}

/* Puts a constant of an enum behind the last one of the list on the top. Its number is that of 64 bits, as a text,
 * which Lua's numbers cannot all be. */
static int append_value(const char *name, int64_t value, void *context)
{
    lua_State *L = context; /* list */
    char digits[24];
    lua_createtable(L, 0, 2); /* list constant */
    core_set_string(L, "name", name);
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    core_set_string(L, "number", digits);
    lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
    return 0;
}

/* What all types have, in a table that is pushed. */
static void push_type(lua_State *L, const char *kind, const char *name, uint64_t size, int bits)
{
    lua_createtable(L, 0, 8); /* type */
    core_set_string(L, "kind", kind);
    core_set_string(L, "name", name);
    core_set_number(L, "size", (lua_Number)size);
    core_set_number(L, "bits", bits);
}

/* --- of debug information --- */

static int append_debug_field(const struct debugfield *field, void *context)
{
    push_field(context, field->name, field->offset, field->first_bit, field->bits);
    append_field(context, field->type);
    return 0;
}

/*
 * types.debug(number) → { kind = "void", "integer", "boolean", "float", "pointer", "array", "struct", "text"
 * (Fortran's) or "other", name (as C writes it), own (what the type itself is called), size, bits, count, element = a
 * number, union = true, fields = { { name, type = a number, offset, first_bit, bits (nil: no bitfield) }, … }, values =
 * { { name, number = digits }, … } of an enum }; nil: there is no such number
 */
static int types_debug(lua_State *L)
{
    static const char *const kinds[] = {
        [DEBUGTYPE_OTHER] = "other",     [DEBUGTYPE_VOID] = "void",     [DEBUGTYPE_INTEGER] = "integer",
        [DEBUGTYPE_BOOLEAN] = "boolean", [DEBUGTYPE_FLOAT] = "float",   [DEBUGTYPE_POINTER] = "pointer",
        [DEBUGTYPE_ARRAY] = "array",     [DEBUGTYPE_STRUCT] = "struct", [DEBUGTYPE_TEXT] = "text",
    };
    uint32_t number = (uint32_t)luaL_checknumber(L, 1);
    struct debugtype type;
    char name[DEBUGTYPE_NAME];
    if (debugtype_get(number, &type))
        return 0;
    push_type(L, kinds[type.kind], debugtype_name(number, name), type.size, type.bits);
    core_set_string(L, "own", type.own);
    core_set_number(L, "count", (lua_Number)type.count);
    core_set_number(L, "element", type.element);
    core_set_boolean(L, "union", type.is_union);
    core_set_boolean(L, "extended", type.extended);
    if (type.kind == DEBUGTYPE_STRUCT) {
        lua_newtable(L); /* type fields */
        debugtype_fields(number, append_debug_field, L);
        lua_setfield(L, -2, "fields");
    }
    if (type.is_enum) {
        lua_newtable(L); /* type values */
        debugtype_values(number, append_value, L);
        lua_setfield(L, -2, "values");
    }
    return 1;
}

/* --- of the kernel --- */

/* Appends the fields of the struct ID, which begins at BASE: those of structs without names as its own. */
static void append_kernel_fields(lua_State *L, uint32_t id, uint64_t base, int depth)
{
    struct kernel_member member;
    const char *name;
    for (unsigned i = 0; depth < DEEPEST && kernel_type_member_at(id, i, &name, &member) == 0; i++) {
        struct kernel_type type = {0};
        if (!*name && !kernel_type_get(member.type, &type) && type.kind == KERNEL_STRUCT) {
            append_kernel_fields(L, member.type, base + member.offset, depth + 1);
        } else if (*name) {
            push_field(L, name, base + member.offset, member.first_bit, member.bits);
            append_field(L, member.type);
        }
    }
}

static void append_kernel_values(lua_State *L, uint32_t id)
{
    const char *name;
    int64_t value;
    for (unsigned i = 0; kernel_type_value_at(id, i, &name, &value) == 0; i++)
        append_value(name, value, L);
}

/* types.kernel(id) → the same of a type of the kernel's; nil: there is none */
static int types_kernel(lua_State *L)
{
    static const char *const kinds[] = {
        [KERNEL_OTHER] = "other",     [KERNEL_VOID] = "void",       [KERNEL_INTEGER] = "integer",
        [KERNEL_BOOLEAN] = "boolean", [KERNEL_POINTER] = "pointer", [KERNEL_ARRAY] = "array",
        [KERNEL_STRUCT] = "struct",
    };
    uint32_t id = (uint32_t)luaL_checknumber(L, 1);
    struct kernel_type type;
    char name[KERNEL_TYPE_NAME];
    if (kernel_type_get(id, &type))
        return 0;
    push_type(L, kinds[type.kind], kernel_type_name(id, name), type.size, type.bits);
    core_set_string(L, "own", kernel_type_own_name(id));
    core_set_number(L, "count", (lua_Number)type.count);
    core_set_number(L, "element", type.element);
    core_set_boolean(L, "union", kernel_type_is_union(id));
    if (type.kind == KERNEL_STRUCT) {
        lua_newtable(L); /* type fields */
        append_kernel_fields(L, id, 0, 0);
        lua_setfield(L, -2, "fields");
    }
    lua_newtable(L); /* type values */
    append_kernel_values(L, id);
    if (lua_objlen(L, -1))
        lua_setfield(L, -2, "values");
    else
        lua_pop(L, 1);
    return 1;
}

/* types.kernel_named("struct task_struct") → its id; nil: the kernel has none, or no BTF */
static int types_kernel_named(lua_State *L)
{
    uint32_t id;
    return kernel_type_find(luaL_checkstring(L, 1), &id) ? 0 : core_push_number(L, id);
}

/* types.variable(path, name, address) → the number of the type of this variable of the file PATH; nil: nobody knows */
static int types_variable(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1), *name = luaL_checkstring(L, 2);
    uint64_t address = (uint64_t)luaL_checknumber(L, 3);
    struct modules modules = {0};
    struct binary *binary;
    struct debuginfo *debuginfo;
    uint32_t type;
    bool found = false;
    if (!modules_add(&modules, path, path) && !binary_open(&modules.items[0], &binary, NULL)) {
        found = !debug_keep(binary, name, "for types", &debuginfo, NULL) &&
                !debugvariable_find(debuginfo, name, address, &type);
        binary_close(binary);
    }
    modules_free(&modules);
    return found ? core_push_number(L, type) : 0;
}

int types_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"debug", types_debug},
        {"kernel", types_kernel},
        {"kernel_named", types_kernel_named},
        {"variable", types_variable},
        {NULL, NULL},
    };
    return core_functions(L, functions);
}
