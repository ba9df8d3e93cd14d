/* Shared objects: told to the compiler as the script has made them, and described to the script once they have maps. */
#include "lua/shared_objects.h"

#include <lauxlib.h>
#include <string.h>

#include "lua/core.h"
#include "lua/layout.h"

void shared_objects_add(lua_State *L, struct compiler *compiler)
{
    static const char *const kinds[] = {"hash", "lru_hash", "percpu_hash", "array",  "count", "sum",
                                        "min",  "max",      "stats",       "hist",   "lhist", "hdr",
                                        "var",  "ring",     "recorder",    "output", NULL};
    const char *name = luaL_checkstring(L, 2);
    int kind = OBJECT_HASH;
    while (kind < OBJECT_OTHER && strcmp(kinds[kind], name))
        kind++;
    struct shared object = {
        .kind = (enum object_kind)kind,
        .max = (uint64_t)luaL_checknumber(L, 3),
        .paced = lua_toboolean(L, 7),
        .ordered = lua_toboolean(L, 8),
        .alone = lua_toboolean(L, 9),
        .advice = luaL_checkstring(L, 10),
        .exported = lua_toboolean(L, 11),
    };
    if (lua_istable(L, 4))
        object.buckets = (struct buckets){
            .low = (int64_t)core_number_field(L, 4, "low"),
            .step = (uint64_t)core_number_field(L, 4, "step"),
            .count = (uint64_t)core_number_field(L, 4, "count"),
            .bits = (unsigned)core_number_field(L, 4, "bits"),
        };
    if (lua_istable(L, 5))
        object.declared_key = layout_read(L, 5, compiler_arena(compiler));
    if (lua_istable(L, 6))
        object.declared_value = layout_read(L, 6, compiler_arena(compiler));
    if (!compiler_add_object(compiler, &object))
        luaL_error(L, "out of memory");
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

void shared_objects_given(lua_State *L, struct compiler *compiler)
{
    struct shared *object = compiler_object(compiler, (size_t)luaL_checkinteger(L, 2));
    luaL_argcheck(L, object, 2, "no such object");
    struct arena *arena = compiler_arena(compiler);
    struct position *at = arena_allocate(arena, sizeof *at);
    *at = (struct position){.file = core_string_in(L, 5, arena), .line = (int)lua_tointeger(L, 6)};
    join_given(L, arena, &object->given_key, &object->given_key_at, 3, at, "key");
    join_given(L, arena, &object->given_value, &object->given_value_at, 4, at, "value");
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
    core_set_number(L, "count", print->count);
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

/* Pushes object.bind's description of OBJECT, whose map is there. */
static void push_object(lua_State *L, const struct shared *object)
{
    lua_createtable(L, 0, 9); /* description */
    core_set_number(L, "fd", object->fd);
    if (object->spill_fd >= 0)
        core_set_number(L, "spill", object->spill_fd);
    if (object->overflow_fd >= 0)
        core_set_number(L, "overflow", object->overflow_fd);
    if (object->turn >= 0)
        core_set_number(L, "turn", object->turn);
    core_set_number(L, "max", object->max);
    if (object->timed) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, "timed");
    }
    if (object->slot_size)
        core_set_number(L, "slot_size", object->slot_size);
    core_set_string(L, "type", map_type_name(object->map_type));
    core_set_string(L, "name", object->name);
    if (object->keyed) {
        layout_push(L, object->key);
        lua_setfield(L, -2, "key");
    }
    if (object->value.kind != TYPE_NONE) {
        layout_push(L, object->value);
        lua_setfield(L, -2, "value");
    }
    push_variants(L, object);
}

void shared_objects_push(lua_State *L, struct compiler *compiler, const struct loaded *loaded)
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
        if (*object->overflow_name && object->overflow_fd < 0)
            object->overflow_fd = loaded_map_fd(loaded, object->overflow_name);
        push_object(L, object); /* objects description */
        lua_rawseti(L, -2, (int)i + 1);
    }
}
