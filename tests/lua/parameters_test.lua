-- e.args of a program's functions by its debug information: every call of 1 and 4 threads, arguments of all types;
-- fields of variables to watch; and what is refused.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local path = target.folder() .. "-parameters.lua"
local file = assert(io.open(path, "w"))
file:write [[
local up = require "uplua"
local P = assert(arg[1]) .. ":"
local n = up.count()
local function number(flag) if flag then return 1 end return 0 end
-- Clang for aarch64 says of a boolean where it is only behind the instruction that takes its bit from the register.
local flag = function(e) return e.args.flag end
if jit.arch == "arm64" and P:find "clang" then flag = function(e) return bit.band(e.arg2, 1) == 1 end end
up.uprobe(P .. "integers", function(e)
  n[{ "integers", e.args.i8, e.args.u8, e.args.i16, e.args.u16, e.args.i32, e.args.u32 }]:inc() end)
up.uprobe(P .. "others", function(e)
  n[{ "others", e.args.i64, e.args.u64, number(flag(e)), e.args.color, e.args.number, e.args.letter }]:inc()
end)
up.uprobe(P .. "many", function(e)
  n[{ "many", e.args.a, e.args.b, e.args.c, e.args.g or 99, e.args.h or 99, e.args.i or 99 }]:inc() end)
up.uprobe(P .. "mixed", function(e) n[{ "mixed", e.args.a, e.args.b, e.args.c, 0, 0, 0 }]:inc() end)
up.uprobe(P .. "give_large", function(e) n[{ "give_large", e.args.a, 0, 0, 0, 0, 0 }]:inc() end)
local texts = up.count()
up.uprobe(P .. "fields", function(e)
  local c = e.args.c
  n[{ "fields", c.mode, c.step, c.ports[1], c.inner.level, c.inner.total, c.list[2].total }]:inc()
  n[{ "more", c.word, c.bytes[3], c.next.ports[0], e.args.list[0].ports[0],
      number(e.args.nothing == nil), number(e.args.unknown == nil) }]:inc()
  texts[{ "fields", up.str(e.args.text), up.str(c.name), up.str(c.path), up.str(c.next.name) }]:inc()
end)
up.uretprobe(P .. "fields", function(e) texts[{ "return", up.str(e.args.text), up.str(e.args.c.name), "", "" }]:inc()
  end)
up.uretprobe(P .. "others", function(e)
  n[{ "return", e.args.i64, e.args.u64, number(flag(e)), e.args.color, e.args.number, e.args.letter }]:inc() end)
up.after(0, function() if arg[2] then io.stderr:write "tracing\n" end end) -- for target.attached
up.at_exit(function()
  for k, c in n:pairs() do
    print(table.concat({ k[1], tostring(k[2]), tostring(k[3]), tostring(k[4]), tostring(k[5]),
        tostring(k[6]), tostring(k[7]), c }, " "))
  end
  for k, c in texts:pairs() do print(table.concat({ k[1], k[2], k[3], k[4], k[5], c }, "|")) end
  print "end"
end)
]]
file:close()

local function int8(i) return (i + 128) % 256 - 128 end
local function letter(i) return jit.arch == "x64" and int8(i) or i % 256 end -- char has no sign on aarch64
local function int16(i) return (i + 32768) % 65536 - 32768 end
local function show(i) return type(i) == "cdata" and i >= -2LL ^ 53 and i <= 2LL ^ 53 and tostring(tonumber(i))
  or tostring(i) end

-- What the script has to print for CALLS calls by each of THREADS, sorted.
local function expected(threads, calls)
  local lines, counts = {}, {}
  local function add(separator, ...)
    local words = { ... }
    for i, word in ipairs(words) do words[i] = show(word) end
    local line = table.concat(words, separator)
    if not counts[line] then lines[#lines + 1] = line .. separator end
    counts[line] = (counts[line] or 0) + threads
  end
  for i = 1, calls do
    local color = i % 3 == 0 and -2 or i % 3 == 1 and -1 or 5
    local big, all = -1099511627776LL * i, -1 - i -- in a tuple with signed numbers
    add(" ", "integers", int8(-i), (256 - i) % 256, int16(-200 * i), 65536 - i, -100000 * i, 4294967295 - i)
    add(" ", "others", big, all, i % 2, color, 65536 - i, letter(-i))
    add(" ", "return", big, all, i % 2, color, 65536 - i, letter(-i))
    add(" ", "many", i, 2, -3, int8(-i), -34359738368LL * i, 4294967295 - i)
    add(" ", "mixed", -i, i, -i, 0, 0, 0)
    add(" ", "give_large", -i, 0, 0, 0, 0, 0)
    add(" ", "fields", i % 8, 0 - i % 16, 65536 - i, int8(-i), -8589934592LL * i, 3 * i)
    add(" ", "more", 0x01020304, 1, 80, 80, i % 2, 1)
    add("|", "fields", "text " .. i, "config " .. i, "/a/path", "main")
    add("|", "return", "text " .. i, "config " .. i, "", "")
  end
  for i, line in ipairs(lines) do lines[i] = line .. counts[line:sub(1, -2)] end
  table.sort(lines)
  return table.concat(lines, "\n")
end

local function sorted(out)
  local lines = {}
  for line in (out:match "(.-)end\n" or out):gmatch "[^\n]+" do
    if not line:find "^told" and line ~= "done" then lines[#lines + 1] = line end
  end
  table.sort(lines)
  return table.concat(lines, "\n")
end

local function check(program, threads, calls, what)
  local run = target.uplua(("%s %s -- %s %d %d"):format(path, program, program, threads, calls))
  is(run.err, "", what .. ": nothing is lost")
  is(run.status, 0, "… and it ends as it does alone")
  is(sorted(run.out), expected(threads, calls), "… every call with its arguments")
end
check("./build/targets/typed", 1, 23, "one thread")
check("./build/targets/typed", 4, 101, "four threads")
check("./build/targets/typed-clang", 4, 23, "as clang optimises, with DWARF 4")
check("./build/targets/typed-split", 1, 23, "by a debug file")

local run = target.attached("./build/targets/typed 4 23 wait", path .. " ./build/targets/typed tell", true)
is(run.status, 0, "a process that runs")
is(sorted(run.out), expected(4, 23), "… every call with its arguments")

-- A program that prints what it is given: uplua prints the same.
run = target.uplua [[-e 'uprobe("./build/targets/typed:told", function(e)
  printf("told %d %u %s %d\n", e.args.number, e.args.size, str(e.args.text), e.args.length)
  end)' -- ./build/targets/typed 1 101 2>&1]]
local ours, own = {}, {}
for line in run.out:gmatch "told [^\n]+" do
  local list = own[line] and ours or own
  list[line], list[#list + 1] = true, line
end
is(#own, 101, "a program that prints its own arguments")
is(table.concat(ours, "\n"), table.concat(own, "\n"), "… which uplua prints just so, line by line")

-- --- what is refused ---

local function refused(code, want, what)
  like(target.uplua(("--explain -e %s"):format(target.quote(code))).err, "^uplua: " .. want, what)
end
local T = "./build/targets/typed:"
local function handler(spec, value, kind)
  return ('n = hash() %s("%s%s", function(e) n[%s] = 1 end)'):format(kind or "uprobe", T, spec, value)
end
refused(handler("integers", "e.args.u88"), "%-e:1: uprobe %S+typed:integers has no argument 'u88'; did you mean u8",
  "an argument that there is not")
refused(handler("mixed", "e.args.x"), "%-e:1: the argument 'x' of %S+typed:mixed cannot be read in a handler: " ..
                                      "it is a 'double', which handlers cannot compute with", "a double")
refused(handler("mixed", "e.args.s"),
  "%-e:1: the argument 's' .* it is a 'struct small' of 8 bytes passed by value, which are e.arg1",
  "a struct in a register")
refused(handler("mixed", "e.args.t"),
  "%-e:1: the argument 't' .* it is a 'struct two' of 16 bytes passed by value, which are e.arg%d and e.arg%d",
  "a struct in two")
refused(handler("mixed", "e.args.p"),
  "%-e:1: the argument 'p' .* it is a 'struct floats' of 16 bytes passed by value, in registers for floating",
  "a struct of doubles")
refused(handler("mixed", "e.args.l"), "%-e:1: the argument 'l' .* it is a 'struct large' .-passed by value, ",
  "a large struct")
refused(handler("many+4", "e.args.a"),
  "%-e:1: .*many%+0x4: e.args is known where a function is entered; inside of it its arguments may be anywhere",
  "inside of a function")
refused(handler("ma*", "e.args.a"),
  "%-e:1: ma%S+ and ma%S+ have other arguments than each other: e.args of several functions needs the same ones",
  "several functions")
refused(handler("fields", "e.args.unknown.x"),
  "%-e:1: the type that a 'struct hidden %*' points to is not defined in the program's debug information",
  "a struct that is nowhere defined")
refused(handler("fields", "e.args.nothing[0]"), "%-e:1: a 'void %*' does not say what it points to", "a void pointer")
refused(handler("fields", "e.args.c.mood"), "%-e:1: 'struct config' has no field 'mood'", "a field that there is not")
refused(handler("fields", "e.args.c.ratio"), "%-e:1: the field 'ratio' of 'struct config' is a double, which handlers",
  "a field that is a double")
refused('n = hash() uprobe("./build/targets/busy-stripped:main", function(e) n[e.args.argc] = 1 end)',
  "%-e:1: .*no such function", "a program without symbols")
refused('n = hash() uprobe("./build/targets/typed-plain:many", function(e) n[e.args.n] = 1 end)',
        "%-e:1: many: %S+ has no debug information, by which the arguments of its functions have names\n" ..
        "compile it with %-g, or install its debug symbols, " ..
        "which are looked for as /usr/lib/debug/.build%-id/%x%x/%x+.debug", "no debug information")

-- --- parts of variables ---

local function watched(what, calls, threads)
  return target.uplua(([[-e 'n = count() watch("./build/targets/typed:%s", "w", function(e) n[e.value]:inc() end)
    at_exit(function() local keys, all = {}, 0 for k, v in n:pairs() do keys[#keys + 1] = k all = all + v end
      table.sort(keys)
      print(#keys, keys[1], keys[#keys], all) end)' -- ./build/targets/typed %d %d]]):format(what, threads or 1, calls))
end
local watches = target.watches()
for _, case in ipairs(not watches and {} or {
  { "config.list[2].total", "101\t1\t101\t101" }, { "config.inner.level", "101\t-101\t-1\t101" },
  { "config.ports[1]", "101\t1\t101\t101" },
  { "grid[2][4]", "101\t-101\t-1\t101" },
}) do
  run = watched(case[1], 101)
  is(run.err, "", case[1] .. ": nothing is lost")
  is(run.out:match "done\n(%d.-)\n", case[2], "… every value that is written there")
end
if watches then
  run = watched("config.list[2].total", 23, 4)
  is(run.out:match "done\n.-(%d+)\n", "92", "by four threads")
end

local function unwatched(what, want, name)
  like(target.uplua(("-e 'watch(%q, \"w\", function() end)' -- ./build/targets/typed"):format(T .. what)).err,
    "^uplua: %-e:1: watch:? " .. want, name)
end
unwatched("config.list[3].total", "%S+config.list has 3 elements, which begin with %[0%]", "an index behind the end")
unwatched("config.innr.level", "%S+config is a 'struct config', which has no field 'innr'; did you mean inner%?",
  "an unknown field")
unwatched("config.next.mode",
  "%S+config.next is a pointer, a 'struct config %*': where it leads is only known while the program runs",
  "behind a pointer")
unwatched("current[0]", "%S+current is a pointer", "a pointer that is none of an array")
unwatched("config.mode",
  "%S+config.mode is a field of 3 bits, and the CPU watches whole bytes: it is in the one 16 bytes into ", "a bitfield")
unwatched("confg.mode", "%S+confg: no such variable in %S+; did you mean config%?", "an unknown variable's field")
unwatched("config.list[x]", "%S+config.list%[x%]: an index is a number in brackets", "an index that is no number")
unwatched("config.list[1]total", "%S+: 'total' is neither a field, .NAME, nor an index", "no path")
unwatched("config.", "%S+: the name of a field is expected behind '.'", "no name")
unwatched("grid[2][5]", "%S+grid%[2%] has 5 elements, which begin with %[0%]", "an index behind the end of a row")
unwatched("grid[3][0]", "%S+grid has 3 elements", "… and of the rows")
unwatched("grid[0].x", "%S+grid%[0%] is a 'int %[5%]', which has no field 'x'", "a field of a row")
unwatched("sink.x", "%S+sink is a 'long int', which has no field 'x'", "a field of a number")
unwatched("sink[1]", "%S+sink is a 'long int', which has no elements", "an index of a number")
unwatched("config.name",
  "how many bytes of %S+config.name in %S+ are meant, { \"w\", size = 1 }, 2, 4 or 8, .* or :8%? It has 16",
  "more than the CPU watches")
os.remove(path)
target.done()
tap.done_testing()
