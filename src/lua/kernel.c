/* kernel: what the kernel's BTF says of functions, and its system calls. */
#include <bpf/bpf.h>
#include <errno.h>
#include <lauxlib.h>

#include "arch/arch.h"
#include "lua/core.h"
#include "lua/link.h"
#include "probe/attach/own.h"
#include "probe/attach/raw_tracepoint.h"
#include "sym/kernel.h"
#include "sys/kernel_types.h"
#include "sys/syscalls.h"

/* The parameter as an argument of a handler (lua/uplua/probe/handler.lua), all but where it is. */
static void push_parameter(lua_State *L, const struct kernel_parameter *parameter)
{
    char text[KERNEL_TYPE_NAME];
    struct kernel_type type = {0};
    kernel_type_get(parameter->type, &type);
    lua_createtable(L, 0, 8); /* parameter */
    core_set_string(L, "name", parameter->name);
    core_set_string(L, "type", kernel_type_name(parameter->type, text));
    core_set_number(L, "typed", (lua_Integer)parameter->type);
    switch (type.kind) {
    case KERNEL_INTEGER:
    case KERNEL_BOOLEAN:
        core_set_string(L, "kind", type.kind == KERNEL_BOOLEAN ? "boolean" : "integer");
        core_set_number(L, "bits", type.bits);
        break;
    case KERNEL_POINTER:
        core_set_string(L, "kind", "pointer");
        core_set_number(L, "bits", 64);
        core_set_number(L, "btf", (lua_Integer)parameter->type);
        core_set_boolean(L, "kernel", true);
        break;
    default:
        core_set_string(L, "place", "nowhere");
        core_set_number(L, "size", (lua_Integer)type.size);
        lua_pushfstring(L, "it is a '%s', which handlers cannot compute with", text);
        lua_setfield(L, -2, "type");
    }
}

/* kernel.parameters(function) → { { name, type, kind, bits, btf, kernel }, … }; nil where the kernel's BTF has no such
 * function */
static int kernel_parameters(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    struct kernel_parameter parameter;
    int code = 0;
    lua_newtable(L); /* list */
    for (unsigned i = 0; (code = kernel_function_parameter(name, i, &parameter)) == 0; i++) {
        push_parameter(L, &parameter); /* list parameter */
        lua_rawseti(L, -2, (int)i + 1);
    }
    return code == -ERANGE;
}

/* kernel.result(function) → what it returns, as of a parameter; nil where it returns nothing, or the kernel's BTF has
 * no such function */
static int kernel_result(lua_State *L)
{
    struct kernel_parameter result = {.name = ""};
    if (kernel_function_result(luaL_checkstring(L, 1), &result.type) || !result.type)
        return 0;
    push_parameter(L, &result);
    return 1;
}

static void push_name(const char *name, void *context)
{
    lua_State *L = context; /* set */
    lua_pushboolean(L, true);
    lua_setfield(L, -2, name);
}

/* kernel.functions(prefix) → { [name] = true }: those that the kernel's BTF has; none where there is no BTF */
static int kernel_functions_lua(lua_State *L)
{
    const char *prefix = luaL_checkstring(L, 1);
    lua_newtable(L);
    kernel_btf_functions(prefix, push_name, L);
    return 1;
}

/* kernel.raw_tracepoint(name) → the function that has its parameters, behind one of its own; raises the reason where
 * there is none */
static int kernel_raw_tracepoint(lua_State *L)
{
    char function[KERNEL_TYPE_NAME];
    struct error err = {0};
    if (raw_tracepoint_function(luaL_checkstring(L, 1), function, sizeof function, &err))
        return core_raise(L, &err);
    return core_push_string(L, function);
}

/* kernel.attach_raw_tracepoint(program, name) → link; raises the reason */
static int kernel_attach_raw_tracepoint(lua_State *L)
{
    int program = (int)luaL_checkinteger(L, 1);
    const char *name = luaL_checkstring(L, 2);
    struct error err = {0};
    return raw_tracepoint_attach(program, name, link_push(L), &err) ? core_raise(L, &err) : 1;
}

/* kernel.write_own(map): tells the library's map `stack_own` which frames are not the user's, where the kernel says
 * that */
static int kernel_write_own(lua_State *L)
{
    int map = (int)luaL_checkinteger(L, 1);
    struct own_code own;
    uint32_t key = 0;
    if (!own_code_read("/proc/kallsyms", &own))
        bpf_map_update_elem(map, &key, &own, BPF_ANY);
    return 0;
}

/* kernel.address(name) → where the kernel's function or variable is, a string of one native u64; nil, reason */
static int kernel_address_lua(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    uint64_t address;
    int rc = kernel_address("/proc/kallsyms", name, &address);
    if (rc == 0) {
        lua_pushlstring(L, (const char *)&address, sizeof address);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, rc == -ENOENT
                          ? "the kernel has no such symbol, or does not list its variables (CONFIG_KALLSYMS_ALL)"
                      : rc == -EACCES ? "the kernel hides its addresses (sysctl kernel.kptr_restrict)"
                                      : error_reason(rc));
    return 2;
}

/* kernel.syscall_name(number) → name, or nil */
static int kernel_syscall_name(lua_State *L)
{
    return core_push_string(L, syscall_name((long)luaL_checknumber(L, 1)));
}

/* kernel.syscall_number(name) → number, or nil */
static int kernel_syscall_number(lua_State *L)
{
    return core_push_natural(L, syscall_number(luaL_checkstring(L, 1)));
}

/* kernel.syscall_registers() → { byte offset among the registers of a call's argument, … } */
static int kernel_syscall_registers(lua_State *L)
{
    enum { ARGUMENTS = 6 };
    lua_createtable(L, ARGUMENTS, 0);
    for (unsigned i = 0; i < ARGUMENTS; i++)
        core_set_number_at(L, (int)i + 1, arch_syscall_argument(i));
    return 1;
}

int kernel_open_lua(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"parameters", kernel_parameters},
        {"functions", kernel_functions_lua},
        {"result", kernel_result},
        {"raw_tracepoint", kernel_raw_tracepoint},
        {"attach_raw_tracepoint", kernel_attach_raw_tracepoint},
        {"write_own", kernel_write_own},
        {"address", kernel_address_lua},
        {"syscall_name", kernel_syscall_name},
        {"syscall_number", kernel_syscall_number},
        {"syscall_registers", kernel_syscall_registers},
        {NULL, NULL},
    };
    return core_functions(L, functions);
}
