/* guest: BPF objects that somebody else has compiled, and what their BTF says of their types. */
#include "compile/guest/guest.h"

#include <bpf/btf.h>
#include <lauxlib.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "compile/context/provider.h"
#include "lua/core.h"
#include "probe/attach/kernel.h"
#include "probe/probe.h"

#define GUEST "uplua.guest"

/* Of structs in structs; of a type with all that is in it, as a hostile object may have it. */
enum { DEEPEST = 16, MOST_TYPES = 1 << 16 };

CORE_HANDLE(guest, GUEST, guest_free)

/* --- types, as lua/uplua/objects/btf_codec.lua takes them --- */

static const struct btf_type *resolve(const struct btf *btf, uint32_t id)
{
    const struct btf_type *type = btf__type_by_id(btf, id);
    for (int depth = 0; type && depth < DEEPEST && (btf_is_mod(type) || btf_is_typedef(type)); depth++)
        type = btf__type_by_id(btf, type->type);
    return type;
}

/* What an object's BTF says has been checked only as far as libbpf needs it. */
static const char *name_at(const struct btf *btf, uint32_t offset)
{
    const char *name = btf__name_by_offset(btf, offset);
    return name ? name : "";
}

static bool is_character(const struct btf *btf, uint32_t id)
{
    const struct btf_type *type = resolve(btf, id);
    return type && btf_is_int(type) && type->size == 1 && !strcmp(name_at(btf, type->name_off), "char");
}

/* Of a walk through a type and those in it. */
struct type_walk {
    const struct btf *btf;
    int depth;
    unsigned count;
};

static void push_inner(lua_State *L, struct type_walk *walk, uint32_t id);

/* Before clang 16 only the values of an enum tell. */
static bool is_signed_enum(const struct btf_type *type)
{
    bool is_signed = btf_kflag(type);
    for (unsigned i = 0; btf_is_enum(type) && i < btf_vlen(type); i++)
        is_signed |= btf_enum(type)[i].val < 0;
    return is_signed;
}

static void push_integer(lua_State *L, uint32_t size, bool is_signed, bool is_boolean)
{
    char kind[8];
    bool known = size == 1 || size == 2 || size == 4 || size == 8;
    snprintf(kind, sizeof kind, "%c%u", is_signed ? 'i' : 'u', 8 * size % 1000);
    core_set_string(L, "kind", !known ? "bytes" : is_boolean && size == 1 ? "bool" : kind);
    core_set_number(L, "size", size);
}

/* Whether the member of TYPE at the bit AT, of the type ID, or of so many BITS, lies inside of it. */
static bool is_inside(const struct btf *btf, const struct btf_type *type, uint32_t id, uint32_t at, uint32_t bits)
{
    int64_t size = btf__resolve_size(btf, id);
    uint64_t end = bits ? at + (uint64_t)bits : at + 8 * (uint64_t)size;
    return (bits ? bits <= 64 : size >= 0 && at % 8 == 0) && end <= 8 * (uint64_t)type->size;
}

static void push_members(lua_State *L, struct type_walk *walk, const struct btf_type *type)
{
    const struct btf_member *members = btf_members(type);
    int count = 0;
    lua_newtable(L); /* type fields */
    for (unsigned i = 0; i < btf_vlen(type); i++) {
        uint32_t at = btf_member_bit_offset(type, i), bits = btf_member_bitfield_size(type, i);
        if (!is_inside(walk->btf, type, members[i].type, at, bits))
            continue;
        lua_createtable(L, 0, 5); /* type fields field */
        core_set_string(L, "name", name_at(walk->btf, members[i].name_off));
        core_set_number(L, "offset", at / 8);
        if (bits) {
            core_set_number(L, "first_bit", at % 8);
            core_set_number(L, "bits", bits);
        }
        push_inner(L, walk, members[i].type);
        lua_setfield(L, -2, "type");
        lua_rawseti(L, -2, ++count);
    }
    lua_setfield(L, -2, "fields");
}

/*
 * Pushes the type ID of WALK: { kind = "i8" … "u64", "bool", "string" (an array of char), "array" (count, element),
 * "struct" (fields = { { name, offset, first_bit, bits, type }, … }; unions too) or "bytes" (anything else), size, name
 * }. Pointers are u64.
 */
static void push_inner(lua_State *L, struct type_walk *walk, uint32_t id)
{
    const struct btf *btf = walk->btf;
    const struct btf_type *type = resolve(btf, id), *named = btf__type_by_id(btf, id);
    int64_t size = btf__resolve_size(btf, id);
    luaL_checkstack(L, 8, "types");
    lua_createtable(L, 0, 4); /* type */
    core_set_string(L, "name", named ? name_at(btf, named->name_off) : "");
    walk->depth++;
    if (!type || size < 0 || walk->depth > DEEPEST || ++walk->count > MOST_TYPES) {
        core_set_string(L, "kind", "bytes");
        core_set_number(L, "size", size < 0 ? 0 : (double)size);
    } else if (btf_is_int(type)) {
        push_integer(L, type->size, btf_int_encoding(type) & BTF_INT_SIGNED, btf_int_encoding(type) & BTF_INT_BOOL);
    } else if (btf_is_any_enum(type)) {
        push_integer(L, type->size, is_signed_enum(type), false);
    } else if (btf_is_ptr(type)) {
        push_integer(L, sizeof(void *), false, false);
    } else if (btf_is_array(type) && is_character(btf, btf_array(type)->type)) {
        core_set_string(L, "kind", "string");
        core_set_number(L, "size", (double)size);
    } else if (btf_is_array(type) && size) {
        core_set_string(L, "kind", "array");
        core_set_number(L, "size", (double)size);
        core_set_number(L, "count", btf_array(type)->nelems);
        push_inner(L, walk, btf_array(type)->type);
        lua_setfield(L, -2, "element");
    } else if (btf_is_composite(type)) {
        core_set_string(L, "kind", "struct");
        core_set_number(L, "size", (double)size);
        push_members(L, walk, type);
    } else {
        core_set_string(L, "kind", "bytes");
        core_set_number(L, "size", (double)size);
    }
    walk->depth--;
}

static void push_type(lua_State *L, const struct btf *btf, uint32_t id)
{
    push_inner(L, &(struct type_walk){.btf = btf}, id);
}

/* guest:type(name) → the type "struct event", "u32" …; nil where the object's BTF has none of that name */
static int guest_type(lua_State *L)
{
    const struct btf *btf = bpf_object__btf(guest_object(check_guest(L)));
    const char *name = luaL_checkstring(L, 2);
    const char *bare = !strncmp(name, "struct ", 7) ? name + 7 : !strncmp(name, "union ", 6) ? name + 6 : NULL;
    int id = !btf    ? -1
             : !bare ? btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF)
                     : btf__find_by_name_kind(btf, bare, *name == 's' ? BTF_KIND_STRUCT : BTF_KIND_UNION);
    if (btf && !bare && id < 0)
        id = btf__find_by_name_kind(btf, name, BTF_KIND_INT);
    if (id <= 0)
        return 0;
    push_type(L, btf, (uint32_t)id);
    return 1;
}

/* --- what is in it --- */

/* guest.open(path) → guest; raises the reason */
static int guest_new(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    struct guest **self = core_new_object(L, sizeof *self, GUEST);
    struct error err = {0};
    return guest_open(path, self, &err) ? core_raise(L, &err) : 1;
}

/* guest:programs() → { { name, section }, … } */
static int guest_programs(lua_State *L)
{
    struct bpf_object *object = guest_object(check_guest(L));
    struct bpf_program *program;
    int count = 0;
    lua_newtable(L); /* list */
    bpf_object__for_each_program(program, object)
    {
        lua_createtable(L, 0, 2); /* list program */
        core_set_string(L, "name", bpf_program__name(program));
        core_set_string(L, "section", bpf_program__section_name(program));
        lua_rawseti(L, -2, ++count);
    }
    return 1;
}

/* guest:maps() → { { name, type, key_size, value_size, max, key, value (types; nil where they are not declared) }, … }:
 * not those of variables */
static int guest_maps(lua_State *L)
{
    struct bpf_object *object = guest_object(check_guest(L));
    const struct btf *btf = bpf_object__btf(object);
    struct bpf_map *map;
    int count = 0;
    lua_newtable(L); /* list */
    bpf_object__for_each_map(map, object)
    {
        if (bpf_map__is_internal(map))
            continue;
        const char *type = libbpf_bpf_map_type_str(bpf_map__type(map));
        lua_createtable(L, 0, 7); /* list map */
        core_set_string(L, "name", bpf_map__name(map));
        core_set_string(L, "type", type ? type : "unknown");
        core_set_number(L, "key_size", bpf_map__key_size(map));
        core_set_number(L, "value_size", bpf_map__value_size(map));
        core_set_number(L, "max", bpf_map__max_entries(map));
        if (btf && bpf_map__btf_key_type_id(map)) {
            push_type(L, btf, bpf_map__btf_key_type_id(map));
            lua_setfield(L, -2, "key");
        }
        if (btf && bpf_map__btf_value_type_id(map)) {
            push_type(L, btf, bpf_map__btf_value_type_id(map));
            lua_setfield(L, -2, "value");
        }
        lua_rawseti(L, -2, ++count);
    }
    return 1;
}

/* guest:variables(section) → { { name, offset, type }, … }, size in bytes; nil where it has no such section, no list
 * where it has no BTF */
static int guest_variables(lua_State *L)
{
    const struct guest *guest = check_guest(L);
    const struct btf *btf = bpf_object__btf(guest_object(guest));
    const char *section = luaL_checkstring(L, 2);
    size_t size = 0;
    if (!guest_data(guest, section, &size))
        return 0;
    int id = btf ? btf__find_by_name_kind(btf, section, BTF_KIND_DATASEC) : -1;
    const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
    lua_newtable(L); /* list */
    for (unsigned i = 0; type && i < btf_vlen(type); i++) {
        const struct btf_var_secinfo *place = btf_var_secinfos(type) + i;
        const struct btf_type *variable = btf__type_by_id(btf, place->type);
        int64_t needed = variable && btf_is_var(variable) ? btf__resolve_size(btf, variable->type) : -1;
        if (place->offset > size || needed < 0 || (uint64_t)needed > size - place->offset)
            continue;
        lua_createtable(L, 0, 3); /* list variable */
        core_set_string(L, "name", name_at(btf, variable->name_off));
        core_set_number(L, "offset", place->offset);
        push_type(L, btf, variable->type);
        lua_setfield(L, -2, "type");
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_pushnumber(L, (lua_Number)size);
    return 2;
}

/* guest:data(section) → the address of its variables, which changes when the object is loaded; nil where it has none */
static int guest_data_lua(lua_State *L)
{
    size_t size;
    void *bytes = guest_data(check_guest(L), luaL_checkstring(L, 2), &size);
    if (!bytes)
        return 0;
    lua_pushlightuserdata(L, bytes);
    return 1;
}

/* --- loading it --- */

/* What KIND's programs are to the kernel: those of a provider, or of two kinds that handlers have no probes of. */
static bool find_kind(const char *kind, enum bpf_prog_type *type, uint32_t *attach_type)
{
    const struct provider *provider = provider_find(kind);
    if (provider) {
        *type = provider->program_type;
        *attach_type = provider_attach_type(provider, true);
    } else if (!strcmp(kind, "session")) {
        *type = BPF_PROG_TYPE_KPROBE;
        *attach_type = probe_attach_type(ATTACH_SESSION);
    } else if (!strcmp(kind, "tp_btf")) {
        *type = BPF_PROG_TYPE_TRACING;
        *attach_type = BPF_TRACE_RAW_TP;
    } else {
        return false;
    }
    return true;
}

static struct bpf_program *check_program(lua_State *L, struct guest *guest, int index)
{
    struct bpf_program *program = bpf_object__find_program_by_name(guest_object(guest), luaL_checkstring(L, index));
    luaL_argcheck(L, program, index, "no such program");
    return program;
}

/* guest:want(program, wanted): whether it is to be loaded */
static int guest_want(lua_State *L)
{
    struct guest *guest = check_guest(L);
    bpf_program__set_autoload(check_program(L, guest, 2), lua_toboolean(L, 3));
    return 0;
}

/* guest:prepare(program, kind, sleepable, function): it is to be loaded as a program of KIND; FUNCTION: of the kernel,
 * of fentry and the like */
static int guest_prepare(lua_State *L)
{
    struct guest *guest = check_guest(L);
    struct bpf_program *program = check_program(L, guest, 2);
    const char *function = luaL_optstring(L, 5, NULL);
    enum bpf_prog_type type = BPF_PROG_TYPE_UNSPEC;
    uint32_t attach_type = 0;
    luaL_argcheck(L, find_kind(luaL_checkstring(L, 3), &type, &attach_type), 3, "no such kind");
    if (bpf_program__set_type(program, type) ||
        bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)attach_type) ||
        (lua_toboolean(L, 4) && bpf_program__set_flags(program, bpf_program__flags(program) | BPF_F_SLEEPABLE)) ||
        (function && bpf_program__set_attach_target(program, 0, function)))
        return luaL_error(L, "the kernel has no %s", function ? function : bpf_program__name(program));
    return 0;
}

/* guest:load(): raises the reason where that fails */
static int guest_load_lua(lua_State *L)
{
    struct error err = {0};
    return guest_load(check_guest(L), &err) ? core_raise(L, &err) : 0;
}

/* guest:program(name) → descriptor, once it is loaded */
static int guest_program(lua_State *L)
{
    struct guest *guest = check_guest(L);
    return core_push_number(L, bpf_program__fd(check_program(L, guest, 2)));
}

/* guest:map(name) → descriptor, once it is loaded; nil where there is no such map */
static int guest_map(lua_State *L)
{
    int fd = bpf_object__find_map_fd_by_name(guest_object(check_guest(L)), luaL_checkstring(L, 2));
    return core_push_natural(L, fd);
}

int guest_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {{"open", guest_new}, {NULL, NULL}};
    static const luaL_Reg methods[] = {
        {"type", guest_type},
        {"programs", guest_programs},
        {"maps", guest_maps},
        {"variables", guest_variables},
        {"data", guest_data_lua},
        {"want", guest_want},
        {"prepare", guest_prepare},
        {"load", guest_load_lua},
        {"program", guest_program},
        {"map", guest_map},
        {NULL, NULL},
    };
    core_new_class(L, GUEST, methods, close_guest);
    return core_functions(L, functions);
}
