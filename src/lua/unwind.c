/* unwind: unwind tables, loaded for the kernel; and the one of a file, to look into. */
#include "lua/core.h"

#include <lauxlib.h>
#include <stdint.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "probe/module/library.h"
#include "unwind/file.h"
#include "unwind/kernel_layout.h"
#include "unwind/unwinder.h"

#define TYPE "uplua.unwind_file"
#define UNWINDER "uplua.unwinder"

static struct unwind_file *check_file(lua_State *L)
{
    return luaL_checkudata(L, 1, TYPE);
}

/* unwind.open(path) → file */
static int unwind_open(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    struct unwind_file *file = core_new_object(L, sizeof *file, TYPE); /* file */
    struct error err;
    return unwind_file_open(file, path, &err) < 0 ? core_raise(L, &err) : 1;
}

static int unwind_gc(lua_State *L)
{
    unwind_file_close(check_file(L));
    return 0;
}

/* file:counts() → functions, rows, rules, bytes, damaged, unknown, guessed */
static int unwind_counts(lua_State *L)
{
    const struct unwind_file *file = check_file(L);
    lua_pushnumber(L, file->table.function_count);
    lua_pushnumber(L, file->table.row_count);
    lua_pushnumber(L, (lua_Number)file->rules.count);
    lua_pushnumber(L, (lua_Number)(unwind_table_chunks(&file->table) * sizeof *file->table.chunks));
    lua_pushnumber(L, file->table.damaged);
    lua_pushnumber(L, file->table.unknown);
    lua_pushnumber(L, file->table.guessed);
    return 7;
}

/* file:row(number, from 0) → ELF address, number of its rule; nil behind the last */
static int unwind_row(lua_State *L)
{
    const struct unwind_file *file = check_file(L);
    lua_Integer number = luaL_checkinteger(L, 2);
    if (number < 0 || number >= file->table.row_count)
        return 0;
    uint64_t offset;
    uint32_t rule = unwind_table_row(&file->table, (uint32_t)number, &offset);
    lua_pushnumber(L, (lua_Number)unwind_file_address(file, offset));
    lua_pushnumber(L, rule);
    return 2;
}

/* file:find(ELF address) → number of the rule that holds there; nil where the file has no code */
static int unwind_find(lua_State *L)
{
    const struct unwind_file *file = check_file(L);
    lua_Number address = luaL_checknumber(L, 2);
    luaL_argcheck(L, address >= 0 && address < 0x1p64, 2, "not an address");
    uint64_t end;
    int64_t offset = unwind_code_offset(&file->elf, (uint64_t)address, &end);
    if (offset < 0)
        return 0;
    return core_push_number(L, unwind_table_find(&file->table, (uint64_t)offset));
}

/* file:rule(number) → kind, base register, offset, addend (0 but for deref…), frame, link (held: the register's name),
 * whether it is guessed: bpf/unwind.h's parts of a rule; kind "unexpressed" for RULE_UNEXPRESSED */
static int unwind_parts(lua_State *L)
{
    static const char *const kinds[] = {
        [RULE_UNKNOWN] = "unknown", [RULE_END] = "end",     [RULE_REGISTER] = "register",
        [RULE_PLT] = "plt",         [RULE_DEREF] = "deref", [RULE_DEREF_BASE] = "deref_base",
        [RULE_SIGNAL] = "signal",   [RULE_HELD] = "held",
    };
    const struct unwind_file *file = check_file(L);
    lua_Integer number = luaL_checkinteger(L, 2);
    luaL_argcheck(L, number >= 0 && (size_t)number < file->rules.count, 2, "no such rule");
    uint64_t rule = file->rules.items[number];
    lua_pushstring(L, rule == RULE_UNEXPRESSED ? "unexpressed" : kinds[RULE_KIND(rule)]);
    lua_pushstring(L, arch_dwarf_register(file->elf.machine, RULE_BASE(rule)));
    bool deref = RULE_KIND(rule) == RULE_DEREF || RULE_KIND(rule) == RULE_DEREF_BASE;
    lua_pushnumber(L, (lua_Number)(deref ? RULE_PLACE(rule) : RULE_OFFSET(rule)));
    lua_pushnumber(L, deref ? (lua_Number)RULE_ADDEND(rule) : 0);
    lua_pushnumber(L, (lua_Number)RULE_FRAME(rule));
    if (RULE_KIND(rule) == RULE_HELD)
        lua_pushstring(L, arch_dwarf_register(file->elf.machine, RULE_HOLDER(rule)));
    else
        lua_pushnumber(L, (lua_Number)RULE_LINK(rule));
    lua_pushboolean(L, (rule & RULE_GUESSED) != 0);
    return 7;
}

/* So that MAP takes none but the names that the library's maps have. */
#define NUMBERED(name) name,
enum { UNWIND_NAMES(NUMBERED) };
#define MAP(L, name) ((void)(name), map_field(L, #name))

static int map_field(lua_State *L, const char *name)
{
    lua_getfield(L, 2, name);
    int fd = (int)luaL_checkinteger(L, -1);
    lua_pop(L, 1);
    return fd;
}

/*
 * unwind.new(symbols, { unwind_slabs = fd, … }, everybody) → unwinder: loads tables for the processes that SYMBOLS
 * follows; EVERYBODY: for those that the kernel asks for. The caller keeps SYMBOLS and the maps.
 */
static int unwinder_new_lua(lua_State *L)
{
    struct symbols *symbols = lua_symbols(L);
    luaL_checktype(L, 2, LUA_TTABLE);
    struct unwinder_maps maps = {
        .slabs = MAP(L, uplua_unwind_slabs),
        .tables = MAP(L, uplua_unwind_tables),
        .rules = MAP(L, uplua_unwind_rules),
        .process = MAP(L, uplua_unwind_process),
        .files = MAP(L, uplua_unwind_files),
        .kernel = MAP(L, uplua_unwind_kernel),
        .early = MAP(L, uplua_unwind_early),
        .wanted = MAP(L, uplua_unwind_wanted),
    };
    struct unwinder **self = core_new_object(L, sizeof *self, UNWINDER); /* self */
    struct error err;
    return unwinder_new(self, symbols, &maps, lua_toboolean(L, 3), &err) < 0 ? core_raise(L, &err) : 1;
}

CORE_HANDLE(unwinder, UNWINDER, unwinder_free)

/* unwinder:fd() → a descriptor, readable when update() has something to do */
CORE_NUMBER_METHOD(unwinder_fd, unwinder)

/* unwinder:add_program(path): makes the tables of a program that is about to be executed, and of its libraries */
static int unwinder_add_program(lua_State *L)
{
    struct unwinder *unwinder = check_unwinder(L);
    const char *path = luaL_checkstring(L, 2);
    struct modules modules = {0};
    char *resolved = realpath(path, NULL);
    if (resolved)
        library_closure("", resolved, true, &modules);
    free(resolved);
    for (size_t i = 0; i < modules.count; i++)
        unwinder_add_file(unwinder, modules.items[i].path);
    modules_free(&modules);
    return 0;
}

/* unwinder:recall(): begins to load the tables that earlier runs have left */
CORE_METHOD(unwinder_recall, unwinder)

/* unwinder:await(): waits until that is done, but not for long */
CORE_METHOD(unwinder_await, unwinder)

/* unwinder:update(): loads what the kernel has asked for */
CORE_METHOD(unwinder_update, unwinder)

/* unwinder:counts() → tables, rows, bytes, failures */
static int unwinder_counts_lua(lua_State *L)
{
    struct unwinder_counts counts = unwinder_counts(check_unwinder(L));
    lua_pushnumber(L, (lua_Number)counts.tables);
    lua_pushnumber(L, (lua_Number)counts.rows);
    lua_pushnumber(L, (lua_Number)counts.bytes);
    lua_pushnumber(L, (lua_Number)counts.failures);
    return 4;
}

/* unwinder:sees_changes() → whether no stack is walked by mappings that have been replaced */
static int unwinder_sees_changes_lua(lua_State *L)
{
    lua_pushboolean(L, unwinder_sees_changes(check_unwinder(L)));
    return 1;
}

/* unwind.lay_out(map): tells the library which programs processes execute, where no tables are loaded; raises the
 * reason */
static int unwind_lay_out(lua_State *L)
{
    int code = kernel_layout_write((int)luaL_checkinteger(L, 1));
    return code ? luaL_error(L, "cannot map uplua_unwind_kernel: %s", error_reason(code)) : 0;
}

int unwind_open_lua(lua_State *L)
{
    static const luaL_Reg unwinder_methods[] = {
        {"fd", unwinder_fd_lua},
        {"add_program", unwinder_add_program},
        {"recall", unwinder_recall_lua},
        {"await", unwinder_await_lua},
        {"update", unwinder_update_lua},
        {"counts", unwinder_counts_lua},
        {"sees_changes", unwinder_sees_changes_lua},
        {NULL, NULL},
    };
    static const luaL_Reg methods[] = {
        {"counts", unwind_counts}, {"row", unwind_row}, {"find", unwind_find}, {"rule", unwind_parts}, {NULL, NULL},
    };
    static const luaL_Reg functions[] = {
        {"open", unwind_open}, {"new", unwinder_new_lua}, {"lay_out", unwind_lay_out}, {NULL, NULL}};
    core_new_class(L, TYPE, methods, unwind_gc);
    core_new_class(L, UNWINDER, unwinder_methods, close_unwinder);
    return core_functions(L, functions);
}
