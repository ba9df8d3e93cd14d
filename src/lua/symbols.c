/* symbols: addresses of processes → names. */
#include "lua/core.h"

#include <lauxlib.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/instruction.h"
#include "sym/demangle.h"
#include "sym/fold.h"
#include "sym/image.h"
#include "sym/symbols.h"
#include "sym/variable_at.h"

#define TYPE "uplua.symbols"

CORE_HANDLE(symbols, TYPE, symbols_free)

struct symbols *lua_symbols(lua_State *L)
{
    return check_symbols(L);
}

/* new() → symbols */
static int lua_symbols_new(lua_State *L)
{
    struct symbols **self = core_new_object(L, sizeof *self, TYPE);
    *self = symbols_new();
    return *self ? 1 : luaL_error(L, "symbols: out of memory");
}

/* symbols:add_process(pid) → true | nil, text: reads the process's mappings, now */
static int lua_symbols_add_process(lua_State *L)
{
    struct symbols *symbols = check_symbols(L);
    pid_t pid = (pid_t)luaL_checkinteger(L, 2);
    int rc = symbols_add_process(symbols, pid);
    if (rc) {
        lua_pushnil(L);
        lua_pushfstring(L, "mappings of process %d: %s", (int)pid, error_reason(rc));
        return 2;
    }
    return core_push_boolean(L, true);
}

/*
 * symbols:follow({ pid, ... } [, execute]) → fd | nil: records what these processes map, all processes with an empty
 * list; EXECUTE: once they execute their program. FD is readable when update() has something to do.
 */
static int lua_symbols_follow(lua_State *L)
{
    struct symbols *symbols = check_symbols(L);
    size_t count;
    const pid_t *pids = core_pids(L, 2, &count);
    int rc = symbols_follow(symbols, pids, count, lua_toboolean(L, 3));
    return core_push_natural(L, rc ? rc : symbols_follow_fd(symbols));
}

/* symbols:begin(): the program that is followed is about to begin: what was lost so far concerns nobody */
CORE_METHOD(symbols_begin, symbols)

/* symbols:unfollow(): takes in what was recorded, and records no more; closes the descriptor */
CORE_METHOD(symbols_unfollow, symbols)

/* symbols:update() → true if it is to be called again in a moment: takes in what was recorded */
static int lua_symbols_update(lua_State *L)
{
    lua_pushboolean(L, symbols_update(check_symbols(L)));
    return 1;
}

/* symbols:keep_file(path): opens a program that is about to be executed */
static int lua_symbols_keep_file(lua_State *L)
{
    symbols_keep_file(check_symbols(L), luaL_checkstring(L, 2));
    return 0;
}

/*
 * symbols:lost() → records, frames, places, replaced: mappings that were not recorded, frames of processes of which
 * nothing is known, addresses that were several files', mappings in the place of others
 */
static int lua_symbols_lost(lua_State *L)
{
    struct symbols_lost lost = symbols_lost(check_symbols(L));
    lua_pushnumber(L, (lua_Number)lost.records);
    lua_pushnumber(L, (lua_Number)lost.frames);
    lua_pushnumber(L, (lua_Number)lost.places);
    lua_pushnumber(L, (lua_Number)lost.replaced);
    return 4;
}

static void push_unread(void *context, const char *module, size_t units)
{
    lua_State *L = context;   /* list */
    lua_createtable(L, 2, 0); /* list one */
    core_set_string_at(L, 1, module);
    if (units == IMAGE_NO_MEMORY)
        core_set_string_at(L, 2, "out of memory");
    else if (units == IMAGE_TOO_LARGE)
        core_set_string_at(L, 2, "too large");
    else
        core_set_number_at(L, 2, (lua_Number)units);
    lua_rawseti(L, -2, (int)lua_objlen(L, -2) + 1);
}

/*
 * symbols:unread() → { { module, units }, … }: the files of whose debug information something that was asked for is not
 * read: the line tables of so many units; "too large": all of it; "out of memory": that, or some of its symbols
 */
static int lua_symbols_unread(lua_State *L)
{
    struct symbols *symbols = check_symbols(L);
    lua_newtable(L); /* list */
    symbols_unread(symbols, push_unread, L);
    return 1;
}

static void push_text(lua_State *L, const char *text)
{
    if (text)
        lua_pushstring(L, text);
    else
        lua_pushboolean(L, 0);
}

/* symbols:lookup(pid, address: number or lightuserdata) → function | nil, module | nil, offset */
static int lua_symbols_lookup(lua_State *L)
{
    struct symbols *symbols = check_symbols(L);
    pid_t pid = (pid_t)luaL_checkinteger(L, 2);
    uint64_t address;
    if (lua_islightuserdata(L, 3)) {
        address = (uintptr_t)lua_touserdata(L, 3);
    } else {
        lua_Number number = luaL_checknumber(L, 3);
        luaL_argcheck(L, number >= 0 && number < 0x1p64, 3, "not an address");
        address = (uint64_t)number;
    }
    struct symbol symbol;
    symbols_lookup(symbols, pid, 0, address, &symbol);
    lua_pushstring(L, symbol.function);
    lua_pushstring(L, symbol.module);
    lua_pushnumber(L, (lua_Number)symbol.offset);
    return 3;
}

/* The frames that are argument INDEX, a string of native 64-bit addresses, and their COUNT. */
static const uint64_t *check_frames(lua_State *L, int index, int *count)
{
    size_t size;
    const void *frames = luaL_checklstring(L, index, &size); /* LuaJIT aligns the bytes of strings to 8 */
    luaL_argcheck(L, size % sizeof(uint64_t) == 0 && size <= 1 << 20, index, "not an array of addresses");
    *count = (int)(size / sizeof(uint64_t));
    return frames;
}

/* Argument INDEX: which program the process executed (symbols_lookup), a string of one native u64; 0 where it is
 * none. */
static uint64_t check_program(lua_State *L, int index)
{
    uint64_t program = 0;
    size_t size;
    const char *bytes = luaL_optlstring(L, index, NULL, &size);
    luaL_argcheck(L, !bytes || size == sizeof program, index, "not a time");
    if (bytes)
        memcpy(&program, bytes, sizeof program);
    return program;
}

/*
 * symbols:resolve(pid, frames: string of native u64, innermost first [, program]) → { function | false, module | false,
 * offset, start | false, … }
 *
 * Four values per frame; START: where a function without a name begins in its module, as OFFSET is counted.
 */
static int lua_symbols_resolve(lua_State *L)
{
    struct symbols *symbols = check_symbols(L);
    pid_t pid = (pid_t)luaL_checkinteger(L, 2);
    int count;
    const uint64_t *frames = check_frames(L, 3, &count);
    uint64_t program = check_program(L, 4);
    symbols_update(symbols); /* the process may have loaded what it calls there a moment ago */
    lua_createtable(L, count * 4, 0);
    for (int i = 0; i < count; i++) {
        struct symbol symbol;
        symbols_lookup_frame(symbols, pid, program, frames, (size_t)i, &symbol);
        push_text(L, symbol.function);
        lua_rawseti(L, -2, i * 4 + 1);
        push_text(L, symbol.module);
        lua_rawseti(L, -2, i * 4 + 2);
        core_set_number_at(L, i * 4 + 3, (lua_Number)symbol.offset);
        bool begins = !symbol.function && symbol.module && symbol.start != UINT64_MAX;
        if (begins)
            lua_pushnumber(L, (lua_Number)symbol.start);
        else
            lua_pushboolean(L, false);
        lua_rawseti(L, -2, i * 4 + 4);
    }
    return 1;
}

/*
 * symbols:places(pid, frames: string of native u64, frame: from 1 [, program]) → { function | false, file | false, line
 * | 0, … }
 *
 * Three values per place in the source: the innermost inlined function of the frame first, last the function proper.
 */
static int lua_symbols_places(lua_State *L)
{
    enum { MAX_PLACES = 128 };
    struct symbols *symbols = check_symbols(L);
    pid_t pid = (pid_t)luaL_checkinteger(L, 2);
    int count;
    const uint64_t *frames = check_frames(L, 3, &count);
    int number = (int)luaL_checkinteger(L, 4);
    luaL_argcheck(L, number >= 1 && number <= count, 4, "no such frame");
    uint64_t program = check_program(L, 5);
    struct source_line places[MAX_PLACES];
    struct symbol symbol;
    uint64_t address = symbols_lookup_frame(symbols, pid, program, frames, (size_t)number - 1, &symbol);
    size_t found = symbols_places(symbols, pid, program, address, places, MAX_PLACES);
    lua_createtable(L, (int)found * 3, 0);
    for (size_t i = 0; i < found; i++) {
        push_text(L, places[i].function);
        lua_rawseti(L, -2, (int)i * 3 + 1);
        push_text(L, places[i].file);
        lua_rawseti(L, -2, (int)i * 3 + 2);
        core_set_number_at(L, (int)i * 3 + 3, places[i].line);
    }
    return 1;
}

/* symbols:build_id(pid, frame) → the build id of the file of that frame of a stack, as hex digits; nil: none known */
static int lua_symbols_build_id(lua_State *L)
{
    uint8_t id[BUILD_ID_MAX];
    char hex[2 * BUILD_ID_MAX + 1];
    int count;
    const uint64_t *frame = check_frames(L, 3, &count);
    luaL_argcheck(L, count == 1, 3, "one frame is expected");
    int length = symbols_build_id(check_symbols(L), (pid_t)luaL_checkinteger(L, 2), *frame, id);
    for (int i = 0; i < length; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    lua_pushstring(L, length > 0 ? hex : NULL);
    return 1;
}

/*
 * symbols:instruction(pid, frame: string of one native u64 [, program]) → address | nil, text | nil: where the file has
 * it, as nm prints it, and the instruction there
 */
static int lua_symbols_instruction(lua_State *L)
{
    enum { ROOM = 256 };
    uint8_t code[ARCH_LONGEST];
    char text[ROOM];
    uint64_t address;
    int count;
    struct symbols *symbols = check_symbols(L);
    const uint64_t *frame = check_frames(L, 3, &count);
    luaL_argcheck(L, count == 1, 3, "one frame is expected");
    pid_t pid = (pid_t)luaL_checkinteger(L, 2);
    size_t size = symbols_code(symbols, pid, check_program(L, 4), *frame, &address, code, sizeof code);
    if (!size)
        return 0;
    lua_pushnumber(L, (lua_Number)address);
    lua_pushstring(L, arch_disassemble(code, size, address, text, sizeof text) ? text : NULL);
    return 2;
}

/* symbols:pointer() → lightuserdata: the struct symbols, for symbols_fold by FFI */
static int lua_symbols_pointer(lua_State *L)
{
    lua_pushlightuserdata(L, check_symbols(L));
    return 1;
}

/* tostring(symbols) → "symbols" or "symbols (closed)" */
static int lua_symbols_tostring(lua_State *L)
{
    struct symbols **self = luaL_checkudata(L, 1, TYPE);
    return core_push_string(L, *self ? "symbols" : "symbols (closed)");
}

/* uplua.core.symbols: { new = function } */
/*
 * symbols.variable_at(path, offset, distance) → { name (nil: none), symbol (the same, as the file has it), its size,
 * address in the file, offset in it, section (nil: none), place in that }: what is DISTANCE bytes behind the place to
 * which OFFSET of the file is loaded; nil where nothing is known
 */
static int lua_variable_at(lua_State *L)
{
    struct variable_at found;
    if (variable_at(luaL_checkstring(L, 1), (uint64_t)luaL_checknumber(L, 2), (int64_t)luaL_checknumber(L, 3), &found))
        return 0;
    lua_createtable(L, 0, 7); /* found */
    char *name = *found.name ? demangle(found.name) : NULL;
    core_set_string(L, "name", name);
    free(name);
    core_set_string(L, "symbol", *found.name ? found.name : NULL);
    core_set_number(L, "address", (lua_Number)found.address);
    core_set_string(L, "section", *found.section ? found.section : NULL);
    core_set_number(L, "size", (lua_Number)found.size);
    core_set_number(L, "offset", (lua_Number)found.offset);
    core_set_number(L, "place", (lua_Number)found.place);
    return 1;
}

int symbols_open_lua(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"add_process", lua_symbols_add_process},
        {"lookup", lua_symbols_lookup},
        {"resolve", lua_symbols_resolve},
        {"places", lua_symbols_places},
        {"build_id", lua_symbols_build_id},
        {"instruction", lua_symbols_instruction},
        {"pointer", lua_symbols_pointer},
        {"follow", lua_symbols_follow},
        {"begin", symbols_begin_lua},
        {"unfollow", symbols_unfollow_lua},
        {"update", lua_symbols_update},
        {"keep_file", lua_symbols_keep_file},
        {"lost", lua_symbols_lost},
        {"unread", lua_symbols_unread},
        {"close", close_symbols},
        {"__gc", close_symbols},
        {"__tostring", lua_symbols_tostring},
        {NULL, NULL},
    };
    static const luaL_Reg functions[] = {{"new", lua_symbols_new}, {"variable_at", lua_variable_at}, {NULL, NULL}};
    luaL_newmetatable(L, TYPE);
    luaL_register(L, NULL, methods);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    return core_functions(L, functions);
}
