/* Handlers of all kinds for tests of the compiler without Lua around it, and what they capture. */
#pragma once

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "compile/front/bytecode.h"
#include "ctypes.h"

static const char *const handlers[] = {
    "local e = ... n:inc()",
    "local e = ... n2[e.comm]:inc()",
    "local e = ... n3[{ e.comm, e.pid, 7 }]:inc()",
    "local e = ... h:add(e.arg0 / 3 - e.arg1 % 7)",
    "local e = ... h2[e.arg0]:add(1)",
    "local e = ... stats[e.comm]:add(e.arg0) steps:add(e.arg1 - 7) digits[{ e.pid, e.arg2 > 5 }]:add(e.time) "
    "largest:add(-e.arg0)",
    "local e = ... list[e.arg0] = (list[e.arg0] or 0) + e.arg1 if list[7] ~= nil and list[e.arg2] == 3 then list[1] = "
    "-e.arg0 end list[2] = list[2] - 1",
    "local e = ... m[e.arg0] = { bytes = e.arg1, stack = e:ustack(), at = e.time, who = e.comm }",
    "local e = ... m[e.arg0] = nil",
    "local e = ... if e.arg0 == 0 then m[0] = { bytes = 0, who = e.comm } end local r = m[e.arg0] if r then r.bytes = "
    "r.bytes + 1 m2[r.bytes] = r.who end",
    "local e = ... m3[e.tid] = (m3[e.tid] or 0) + e.arg2",
    "local e = ... m3[1] = m3[2] and m3[3] or 5",
    "local e = ... if e.arg0 < 10 and (e.arg1 > 3 or e.comm == 'x') or not (e.arg2 == 7) then v:add(2) else "
    "v:set(v:get()) end",
    "local e = ... r:emit { a = e.arg0, b = e.comm, c = e.arg1 > 4 }",
    "local e = ... local x, y, z = 1, e.arg0, nil if y > 5 then z = y end m4[{ x, y }] = { z = z, s = y > 3 and 'a' or "
    "'bcdefghijk' }",
    "local e = ... m5[i32(e.arg0)] = u8(e.arg1) + i64(3) * u64(e.arg2) / 5ULL",
    "local e = ... local p = read_u32(e.arg0) if p ~= nil then m6[p] = true end",
    "local e = ... local a, b = helper(e.arg0, e.arg1) v:add(helper(a, b) + b)",
    "local e = ... m7[1] = e.time m7[2] = e.uid + e.gid * e.cpu m7[e.ip] = e.caller m7[3] = -e.cgroup",
    "local e = ... m8[1] = { { 1, 2 }, deep = { x = e.arg0, y = { z = e.comm } } } local d = m8[1] if d then m8[2] = d "
    "end",
    "local e = ... local s = 'x' for i = 1, e.arg0 do for j = 10, i, -3 do if j == 7 then s = e.comm break end m3[i] = "
    "j end end m2[1] = s",
    "local e = ... local x, found = e.arg0 while x > 1 do x = x / 2 if x == 7 then found = x end end repeat x = x + 1 "
    "until x > 9 m3[x] = found",
    "local e = ... m3[e.tid] = 1 local t = m3[e.arg0] if t == nil then return end if t ~= m3[9] then v:add(t) end",
    "local e = ... local p = cast('struct item *', e.arg0) while p do v:add(p.value) if p.yes then v:set(p.low) end p "
    "= p.next end",
    "local e = ... local p = cast('struct item *', e.arg0) local h = p.next.header m3[p.list[e.arg1]] = "
    "p[e.arg2].list[3] m3[h.id] = h.id",
    "local e = ... local p = cast('struct item *', e.arg0) local s = p.name if s == 'item' then v:add(s[2]) end "
    "n2[s]:inc() n2[p.next.name]:inc() v:add(s[e.arg1])",
    "local e = ... local p = cast('struct item *', e.arg0) m4[p] = { p = p, q = p.next or p[1].next } local r = "
    "m4[p.next] if r and r.p == r.q then v:add(cast('int32_t', r.q.header.id)) end",
    "local e = ... printf('%d of %-8s|%x %q %c%% %s\\n', e.arg0, e.comm, u64(e.arg1), e.comm, 65, e:ustack())",
    "local e = ... m3[2] = 5 local x if e.arg0 > 3 then x = e.arg1 end printf('%s %s %5d\\n', x, { a = x, b = e.comm "
    "}, m3[1]) printf('plain')",
    "local e = ... local t, b = {}, buf(e.arg0, e.arg1, 24) for i = 1, 8 do t[i] = read_u8(e.arg0 + i) end local at, "
    "to "
    "= e.comm:find('item', 2, true) if b and b:find 'x' and #b > t[3] then r:emit { t = t, b = b, at = at, to = to } "
    "end",
    "local e = ... while e.arg0 > 3 do if e.arg1 == 7 then exit(3) end v:add(helper(exit(e.arg2), 2)) end exit()",
};
static const char *const helper = "local a, b = ... if a < b then return a, b end return b, a + 1";

struct source {
    struct bytecode *bytecode;
};

static struct bytecode *helper_code;

static struct captured nothing(void *context, int function, unsigned index)
{
    (void)context;
    (void)function;
    (void)index;
    return (struct captured){.kind = CAPTURED_NIL};
}

static struct captured by_name(void *context, int function, const char *name, size_t length)
{
    static const char *const objects[] = {"n",  "n2",     "n3",    "h",     "h2",     "v",    "r",
                                          "m",  "m2",     "m3",    "m4",    "m5",     "m6",   "m7",
                                          "m8", "output", "stats", "steps", "digits", "list", "largest"};
    static const char *const builtins[] = {"i32",     "u8",  "i64",  "u64",    "read_u32",
                                           "read_u8", "buf", "cast", "printf", "exit"};
    struct captured captured = {.kind = CAPTURED_NIL};
    (void)context;
    (void)function;
    (void)length;
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (!strcmp(name, objects[i]))
            captured = (struct captured){.kind = CAPTURED_OBJECT, .handle = (int)i};
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (!strcmp(name, builtins[i])) {
            captured.kind = CAPTURED_BUILTIN;
            captured.string.bytes = builtins[i];
            captured.string.length = strlen(builtins[i]);
        }
    if (!strcmp(name, "helper"))
        captured = (struct captured){.kind = CAPTURED_FUNCTION, .handle = 1};
    return captured;
}

static struct captured no_field(void *context, int table, const struct captured *key)
{
    (void)context;
    (void)table;
    (void)key;
    return (struct captured){.kind = CAPTURED_NIL};
}

static const struct bytecode *code(void *context, int function, struct error *err)
{
    struct source *source = context;
    (void)err;
    return function == 0 ? source->bytecode : helper_code;
}

/* The dump of a function `function(e, …) BODY end`, whose parameters replace the chunk's `local e = ...`; malloc'd. */
static inline unsigned char *dump(lua_State *L, const char *body, size_t *size)
{
    const char *names = strstr(body, "local ") + 6, *end = strstr(names, " = ...");
    lua_pushfstring(L, "return function(");
    lua_pushlstring(L, names, (size_t)(end - names));
    lua_pushfstring(L, ")%s end", end + 6);
    lua_concat(L, 3);
    if (luaL_loadstring(L, lua_tostring(L, -1)) || lua_pcall(L, 0, 1, 0)) {
        fprintf(stderr, "# %s\n", lua_tostring(L, -1));
        exit(1);
    }
    lua_getglobal(L, "string"); /* … function string */
    lua_getfield(L, -1, "dump");
    lua_pushvalue(L, -3);
    lua_call(L, 1, 1);
    const char *bytes = lua_tolstring(L, -1, size);
    unsigned char *copy = malloc(*size);
    if (copy)
        memcpy(copy, bytes, *size);
    lua_settop(L, 0);
    return copy;
}

static __attribute__((noreturn)) void no_memory(void *context)
{
    (void)context;
    fputs("# out of memory outside of a compilation\n", stderr);
    exit(1);
}

/* For compile_options: nothing is known of the kernel. */
static inline const struct kernel_returns *unknown_returns(void)
{
    static const struct kernel_returns none;
    return &none;
}

static inline struct compiler *new_compiler(struct source *source)
{
    static const enum object_kind kinds[] = {
        OBJECT_COUNT, OBJECT_COUNT,  OBJECT_COUNT, OBJECT_HIST,  OBJECT_HIST, OBJECT_VAR,   OBJECT_RING,
        OBJECT_HASH,  OBJECT_HASH,   OBJECT_HASH,  OBJECT_HASH,  OBJECT_HASH, OBJECT_HASH,  OBJECT_HASH,
        OBJECT_HASH,  OBJECT_OUTPUT, OBJECT_STATS, OBJECT_LHIST, OBJECT_HDR,  OBJECT_ARRAY, OBJECT_MAX,
    };
    struct compiler *compiler =
        compiler_new((struct host){source, nothing, by_name, no_field, code, NULL, &ctypes_source});
    if (!compiler)
        return NULL;
    compiler_begin(compiler, no_memory, NULL);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bool is_ring = kinds[i] == OBJECT_RING || kinds[i] == OBJECT_OUTPUT;
        struct shared given = {
            .kind = kinds[i],
            .max = is_ring ? 65536 : 101,
            .advice = "give it more room",
            .paced = kinds[i] == OBJECT_RING,
            .buckets = {.low = -5, .step = 10, .count = 1000, .bits = 7},
        };
        if (compiler_add_object(compiler, &given))
            continue;
        compiler_free(compiler);
        return NULL;
    }
    return compiler;
}
