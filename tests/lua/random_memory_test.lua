-- Random C structures, filled with random bytes by a program that is generated, compiled and traced here: handlers read
-- through typed pointers what the C compiler finds there. The seed is printed; RANDOM_SEED=n repeats a run.
local tap = require "tap"
local target = require "target"

local CC = tap.compiler()
local STRUCTS, PATHS, CALLS = 23, 8, 3
local seed = tonumber(os.getenv "RANDOM_SEED" or os.getenv "UPLUA_LONG" and os.time() % 1000000 or 101)
print("# seed " .. seed)
math.randomseed(seed)

local function pick(list) return list[math.random(#list)] end

local INTEGERS = { "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "long",
                   "unsigned long", "short", "unsigned", "int", "enum level" }
local BITFIELDS = { { "unsigned", 32 }, { "int", 32 }, { "uint16_t", 16 }, { "int16_t", 16 }, { "uint8_t", 8 },
  { "int8_t", 8 }, { "bool", 1 } }

-- Structure number I: { name, members, packed }; a member has a name, its declaration, and a kind with what that needs.
local structs = {}

local makers = {
  integer = function(m) return { kind = "integer", declaration = ("%s %s;"):format(pick(INTEGERS), m) } end,
  bool = function(m) return { kind = "bool", declaration = ("bool %s;"):format(m) } end,
  text = function(m)
    local size = math.random(2, 24)
    return { kind = "text", size = size, declaration = ("char %s[%d];"):format(m, size) }
  end,
  list = function(m)
    local count = math.random(2, 5)
    return { kind = "list", counts = { count }, declaration = ("%s %s[%d];"):format(pick(INTEGERS), m, count) }
  end,
  matrix = function(m)
    local rows, columns = math.random(2, 3), math.random(2, 4)
    return { kind = "list", counts = { rows, columns },
      declaration = ("%s %s[%d][%d];"):format(pick(INTEGERS), m, rows, columns) }
  end,
  union = function(m)
    return { kind = "union", declaration = ("union { %s whole; uint8_t bytes[4]; } %s;"):format(pick(INTEGERS), m) }
  end,
  bits = function(m)
    local base = pick(BITFIELDS)
    return { kind = base[1] == "bool" and "bool" or "integer",
             declaration = ("%s %s : %d;"):format(base[1], m, math.random(1, base[2])) }
  end,
  struct = function(m, i)
    local of = math.random(1, i - 1)
    return { kind = "struct", of = of, declaration = ("struct s%d %s;"):format(of, m) }
  end,
  structs = function(m, i)
    local of, count = math.random(1, i - 1), math.random(2, 3)
    return { kind = "structs", of = of, counts = { count }, declaration = ("struct s%d %s[%d];"):format(of, m, count) }
  end,
  pointer = function(m, i)
    local of = math.random(1, i)
    return { kind = "pointer", of = of, declaration = ("%sstruct s%d *%s;"):format(pick { "", "const " }, of, m) }
  end,
  twice = function(m, i)
    local of = math.random(1, i)
    return { kind = "twice", of = of, declaration = ("struct s%d **%s;"):format(of, m) }
  end,
}
local PLAIN = { "integer", "integer", "bool", "text", "list", "matrix", "union", "pointer", "twice" }
local LATER = { "struct", "structs" } -- wants structures before it

local function new_struct(i)
  local struct = { name = "struct s" .. i, members = {}, packed = math.random() < 0.2 }
  for m = 1, math.random(2, 7) do
    local maker = i > 1 and math.random() < 0.25 and pick(LATER) or pick(PLAIN)
    if not struct.packed and math.random() < 0.25 then maker = "bits" end
    local member = makers[maker]("m" .. m, i)
    member.name = "m" .. m
    struct.members[m] = member
  end
  return struct
end
for i = 1, STRUCTS do structs[i] = new_struct(i) end

local declarations = { "enum level { LOW = -2, HIGH = 7 };" }
for i, struct in ipairs(structs) do
  local members = {}
  for m, member in ipairs(struct.members) do members[m] = member.declaration end
  declarations[#declarations + 1] = ("struct %ss%d { %s };"):format(struct.packed and "__attribute__((packed)) " or "",
    i, table.concat(members, " "))
end
declarations = table.concat(declarations, "\n")

-- An index into COUNT elements, in Lua and in C: a constant, or one that depends on the number of the call.
local function index(count)
  if math.random() < 0.5 then
    local n = math.random(0, count - 1)
    return tostring(n), tostring(n)
  end
  local shift = math.random(0, 4)
  return ("(call + %d) %% %d"):format(shift, count), ("(call + %d) %% %d"):format(shift, count)
end

-- A way from a pointer to structure I to something that can be read: the expression in Lua, in C, its kind, and C's
-- conditions under which it is there.
local function path(i, lua, c, conditions)
  local member = pick(structs[i].members)
  lua, c = lua .. "." .. member.name, c .. member.name
  local function with_indices()
    for _, count in ipairs(member.counts) do
      local in_lua, in_c = index(count)
      lua, c = ("%s[%s]"):format(lua, in_lua), ("%s[%s]"):format(c, in_c)
    end
  end
  local kind = member.kind
  if kind == "integer" or kind == "bool" or kind == "text" then return lua, c, kind, conditions, member.size end
  if kind == "list" then
    with_indices()
    return lua, c, "integer", conditions
  elseif kind == "union" then
    if math.random() < 0.5 then return lua .. ".whole", c .. ".whole", "integer", conditions end
    local in_lua, in_c = index(4)
    return ("%s.bytes[%s]"):format(lua, in_lua), ("%s.bytes[%s]"):format(c, in_c), "integer", conditions
  elseif kind == "struct" then
    return path(member.of, lua, c .. ".", conditions)
  elseif kind == "structs" then
    with_indices()
    return path(member.of, lua, c .. ".", conditions)
  end
  conditions = { unpack(conditions) }
  conditions[#conditions + 1] = c
  if kind == "twice" then
    lua, c = lua .. "[0]", "(*" .. c .. ")"
    conditions[#conditions + 1] = c
  end
  if math.random() < 0.3 or #conditions > 3 then return lua, c, "pointer", conditions end
  return path(member.of, lua, c .. "->", conditions)
end

local CHECK = {
  integer = "integer(%d, %d, %d, (long long)(%s));", bool = "boolean(%d, %d, %d, %s);",
  pointer = "integer(%d, %d, %d, (long long)(%s));",
  text = "text(%d, %d, %d, %s, %d);",
}
local program, handlers = { [[
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
]], declarations, [[
static void integer(int s, int call, int n, long long value) { printf("R\t%d\t%d\t%d\t%lld\n", s, call, n, value); }
static void boolean(int s, int call, int n, bool value)
{
    printf("R\t%d\t%d\t%d\t%s\n", s, call, n, value ? "true" : "false");
}
static void nothing(int s, int call, int n) { printf("R\t%d\t%d\t%d\tnil\n", s, call, n); }
static void text(int s, int call, int n, const char *value, int size)
{
    printf("R\t%d\t%d\t%d\t", s, call, n);
    for (int i = 0; i < size && value[i]; i++)
        printf("%02x", (unsigned char)value[i]);
    printf("\n");
}
]] }, { [[
local up, ffi = require "uplua", require "ffi"
ffi.cdef(DECLARATIONS)
]] }
local function put(...) program[#program + 1] = (...):format(select(2, ...)) end

for i in ipairs(structs) do
  put("static struct s%d pool%d[%d], *pointers%d[%d];", i, i, CALLS, i, CALLS)
end
-- What random bytes must not be: pointers to nowhere, booleans other than 0 and 1.
for i, struct in ipairs(structs) do
  put("static void mend%d(struct s%d *p)\n{", i, i)
  for _, member in ipairs(struct.members) do
    local m = member.name
    if member.kind == "bool" then put("    p->%s = rand() & 1;", m) end
    if member.kind == "pointer" then
      put("    p->%s = rand() %% 4 ? &pool%d[rand() %% %d] : NULL;", m, member.of, CALLS)
    end
    if member.kind == "twice" then
      put("    p->%s = rand() %% 4 ? &pointers%d[rand() %% %d] : NULL;", m, member.of, CALLS)
    end
    if member.kind == "struct" then put("    mend%d(&p->%s);", member.of, m) end
    if member.kind == "structs" then
      put("    for (int i = 0; i < %d; i++)\n        mend%d(&p->%s[i]);", member.counts[1], member.of, m)
    end
  end
  put("}\n__attribute__((noinline)) void hit%d(struct s%d *p, long call)\n{\n" ..
      "    __asm__ volatile(\"\" : : \"r\"(p), \"r\"(call) : \"memory\");\n}", i, i)
  local fields = { "call = call" }
  put("static void check%d(struct s%d *p, int call)\n{", i, i)
  for n = 1, PATHS do
    local lua, c, kind, conditions, size = path(i, "p", "p->", {})
    local check = CHECK[kind]:format(i, 0, n, c, size):gsub(", 0, ", ", call, ", 1)
    put("    if (%s)\n        %s\n    else\n        nothing(%d, call, %d);",
        #conditions > 0 and table.concat(conditions, " && ") or "true", check, i, n)
    fields[#fields + 1] = ("v%d = %s"):format(n, lua)
  end
  put("}")
  handlers[#handlers + 1] = ([[
local r%d = up.ring()
up.uprobe(TARGET .. "hit%d", function(e)
  local p, call = up.cast("struct s%d *", e.arg0), e.arg1
  r%d:emit { %s }
end)
r%d:each(function(ev) show(%d, ev) end)]]):format(i, i, i, i, table.concat(fields, ", "), i, i)
end
put("int main(int argc, char **argv)\n{\n    srand(%d);\n" ..
    "    if (argc < 2 || !freopen(argv[1], \"w\", stdout))\n        return 1;", seed)
for i in ipairs(structs) do
  put("    for (size_t i = 0; i < sizeof pool%d; i++)\n" ..
      "        ((unsigned char *)pool%d)[i] = (unsigned char)(rand() >> 8);", i, i)
  put("    for (int i = 0; i < %d; i++) {\n        mend%d(&pool%d[i]);\n" ..
      "        pointers%d[i] = rand() %% 4 ? &pool%d[i] : NULL;\n    }", CALLS, i, i, i, i)
end
put("    for (int call = 0; call < %d; call++) {", CALLS)
for i in ipairs(structs) do
  put("        check%d(&pool%d[call], call);\n        hit%d(&pool%d[call], call);", i, i, i, i)
end
put("    }\n    return 0;\n}")

local folder = target.folder() .. "-memory"
os.execute("mkdir -p " .. folder)
local function write(name, text)
  local file = assert(io.open(folder .. "/" .. name, "w"))
  file:write(text, "\n")
  file:close()
end
write("program.c", table.concat(program, "\n"))
tap.is(os.execute(("cd %s && %s -std=gnu11 -O1 -w -fno-strict-aliasing -o program program.c"):format(folder, CC)), 0,
       "the program of seed " .. seed .. " compiles")
write("script.lua", ("local DECLARATIONS, TARGET = [==[%s]==], %q\n"):format(declarations, folder .. "/program:") .. ([[
local function hex(s) return (s:gsub(".", function(c) return ("%%02x"):format(c:byte()) end)) end
local function show(s, ev)
  for n = 1, %d do
    local v = ev["v" .. n]
    if type(v) == "number" then v = ("%%d"):format(v)
    elseif type(v) == "string" then v = hex(v)
    elseif type(v) == "cdata" then v = tostring(ffi.cast("int64_t", v)):gsub("LL$", "") end
    up.printf("U\t%%d\t%%d\t%%d\t%%s\n", s, ev.call, n, tostring(v))
  end
end
]]):format(PATHS):gsub("^", handlers[1]) .. table.concat(handlers, "\n", 2))

local run = target.uplua(folder .. "/script.lua -- " .. folder .. "/program " .. folder .. "/expected")
tap.is(run.err, "", "the handlers of seed " .. seed .. " compile, load and lose nothing")
tap.is(run.status, 0, "the program runs")
local expected, results, wrong = {}, 0, 0
for which, value in assert(io.open(folder .. "/expected")):read "*a":gmatch "R\t(%d+\t%d+\t%d+)\t([^\n]*)\n" do
  expected[which] = value
end
for which, value in run.out:gmatch "U\t(%d+\t%d+\t%d+)\t([^\n]*)\n" do
  results = results + 1
  if expected[which] ~= value and wrong < 10 then
    wrong = wrong + 1
    io.stderr:write(("# seed %d, %s: handler %s, C %s\n"):format(seed, which:gsub("\t", " "), value, expected[which]))
  end
end
tap.is(results, STRUCTS * CALLS * PATHS, "each handler told all that it read")
tap.is(wrong, 0, "the same as the C compiler's")
if wrong == 0 and results > 0 and run.err == "" then
  os.execute("rm -rf " .. folder)
else
  print("# kept in " .. folder)
end
target.done()
tap.done_testing()
