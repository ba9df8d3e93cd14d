-- What public functions make of arguments that are wrong, which they raise at the line that calls them, and of things
-- that are not there, of which they return nil and the reason.
local tap = require "tap"
local up  = require "uplua"
local ok, is, like = tap.ok, tap.is, tap.like

local function handler() end

local MODULES = {
  flame  = { "svg", "write" },
  folded = { "read", "sums", "text", "write" },
  plot   = { "bars", "heat", "histogram", "sparkline" },
  stacks = { "rows", "named", "told" },
  file   = { "write" },
  trace  = { "each" },
  text   = { "bar", "bytes", "cut", "duration", "escape", "integer", "plural", "quote", "size", "thousands", "time",
             "width" },
  view   = { "new" },
}
local LEFT_OUT = { args = true, printf = true } -- they end the process, and print into the test's lines

local functions = {} -- by name
for name in pairs(getmetatable(up).names) do functions[name] = not LEFT_OUT[name] and up[name] or nil end
functions.version = nil -- a text
for module, names in pairs(MODULES) do
  for _, name in ipairs(names) do functions[("%s.%s"):format(module, name)] = require("uplua." .. module)[name] end
end

-- Lists of arguments that hardly any function takes.
local WRONG = {
  { n = 0 }, { n = 1, nil }, { n = 1, true }, { n = 1, -1.5 }, { n = 1, {} }, { n = 1, handler }, { n = 1, io.stdout },
  { n = 2, nil, nil }, { n = 2, 99, 5 }, { n = 2, {}, {} }, { n = 3, {}, 5, 5 }, { n = 3, handler, handler, handler },
  { n = 3, "/nowhere/app:malloc", "nosuch", handler }, { n = 2, "/nowhere/x", handler },
}

-- What a call raises: its text behind the line of this file that calls; nil where it raises nothing, and false where it
-- is another file's line.
local function raised(fn, arguments)
  local line
  local good, message = pcall(function()
    line = debug.getinfo(1, "l").currentline + 1
    local result, why = fn(unpack(arguments, 1, arguments.n))
    return result, why
  end)
  if good then return nil end
  local text = tostring(message)
  local begin = ("tests/lua/arguments_test.lua:%d: "):format(line)
  if text:sub(1, #begin) == begin then return text:sub(#begin + 1) end
  -- What the script's user is told names no line.
  return type(message) == "table" and text or false, text
end

for name, fn in pairs(functions) do
  local strange
  for _, arguments in ipairs(WRONG) do
    local text, whole = raised(fn, arguments)
    if text == false or text and (text == "" or text:find "0x%x%x%x%x%x") then
      strange = ("%s: %s"):format(tostring(arguments[1]), whole or text)
    end
  end
  ok(not strange, ("%s raises what is wrong at its caller's line%s"):format(name, strange and ": " .. strange or ""))
end

-- Methods of objects, by the objects that have them: called by a colon, and by a dot.
local METHODS = {
  { up.hash(), "get set delete pairs size clear top" }, { up.array { max = 4 }, "get set delete pairs size clear top" },
  { up.count(), "get pairs top take clear size inc add" }, { up.sum(), "add" }, { up.max(), "get top" },
  { up.stats(), "get pairs top take add" }, { up.hist(), "get pairs top take percentile" },
  { up.hdr(), "get percentile" }, { up.var(0), "get set add" }, { up.ring(), "each poll emit" },
  { up.counter "page-faults", "read take places clear close", colon_alone = true },
  { require "uplua.view".new { { "a", "A" } }, "text", colon_alone = true },
}
for _, row in ipairs(METHODS) do
  local object, strange = row[1], nil
  for name in row[2]:gmatch "%S+" do
    for _, arguments in ipairs(WRONG) do
      local text, whole = raised(function(...) return (object[name](object, ...)) end, arguments)
      if text ~= false and not row.colon_alone then text, whole = raised(object[name], arguments) end
      if text == false and not whole:find "^tests/lua/arguments_test.lua:" then strange = whole end
    end
  end
  ok(not strange, ("methods %s%s"):format(row[2], strange and ": " .. strange or ""))
end

-- Some of what they raise.
for name, case in pairs {
  site = { { n = 1, 5 }, 'site: the first argument names the function: "libc:malloc"' },
  defines = { { n = 1, {} }, 'defines: the first argument names the function: "libc:malloc"' },
  modules_defining = { { n = 2, "malloc", 5 },
                       "modules_defining: the second argument is a function, called with each path, not a number" },
  syscall_name = { { n = 1, "read" }, "syscall_name: a number is expected, not a string" },
  syscall_number = { { n = 1, 0 }, 'syscall_number: the argument is a name, such as "openat"' },
  errno_name = { { n = 0 }, "errno_name: a number is expected, not a nil" },
  clock = { { n = 1, "12:00" }, "clock: a number is expected, not a string" },
  i32 = { { n = 1, nil }, "i32: a number is expected, not a nil" },
  u64 = { { n = 1, "5" }, "u64: a number is expected, not a string" },
  ["text.thousands"] = { { n = 1, "1000" }, "thousands: a number is expected, not a string" },
  ["text.plural"] = { { n = 2, 5, 5 }, "plural: a string is expected, not a number" },
  ["text.bar"] = { { n = 1, 0.5 }, "bar: a number is expected, not a nil" },
  ["text.escape"] = { { n = 1, nil }, "escape: a string is expected, not a nil" },
  ["text.quote"] = { { n = 1, 5 }, "quote: a string is expected, not a number" },
  sorted = { { n = 2, {}, 5 }, "sorted: the second argument is a function that compares two values, not a number" },
  report = { { n = 2, 0, handler }, "the period must be longer than zero" },
  every = { { n = 2, {}, handler }, 'a table is not a duration; write "100ms", "5s", "2m", "1h", or a number of ns' },
  symbol = { { n = 2, "init", 5 }, "symbol: 'init' is no process" },
  ["folded.read"] = { { n = 1, 5 }, "folded: the first argument is the file's path, a text" },
  ["plot.histogram"] = {
    { n = 1, up.count() },
    "plot.histogram: a hist, lhist or hdr without keys is expected, or a value of one, such as h[key]",
  },
} do
  is(raised(functions[name], case[1]), case[2], name)
end

-- What is not there.
local function absent(name, reason, ...)
  local result, why = functions[name](...)
  is(result, nil, ("%s: nothing"):format(name))
  like(why, reason, ("%s: the reason"):format(name))
end
absent("site", "^libc:mallok: no such function in /%S+libc.so.6; did you mean malloc", "libc:mallok")
absent("site", "^'malloc' names no probe; write BINARY:FUNCTION", "malloc")
absent("site", "libnosuch", "libnosuch:x")
absent("defines", "^libc:mallok: no such function in /%S+libc.so.6; did you mean malloc", "libc:mallok")
absent("defines", "libnosuch", "libnosuch:x")
absent("address", "no such function", "libc:mallok", io.open "/proc/self/stat":read "*n")
absent("syscall_number", "^the headers that uplua was built with have no system call 'opnat'$", "opnat")
absent("probe_cost", "^no handler asks for e.elapsed of a function$")
absent("folded.read", "^cannot read /nowhere/x: No such file or directory$", "/nowhere/x")
absent("file.write", "^/nowhere/x: No such file or directory$", "/nowhere/x", "")

-- What is there.
is(up.defines "libc:malloc", true, "defines: true")
is(up.site "libc:malloc"["function"], "malloc", "site: a table")
is(up.syscall_number "read" >= 0, true, "syscall_number: a number")
is(up.syscall_name(1e6) .. up.errno_name(4000), "syscall 1000000error 4000", "numbers without a name have a text, too")
is(functions["plot.histogram"](up.hist()), "(empty)", "plot.histogram: a hist without keys")

-- Negative numbers, also in a loop that LuaJIT compiles.
local exact = 0
for _ = 1, 1009 do
  local all = up.u64(-1) == 0xffffffffffffffffULL and up.u16(-2) == 65534 and up.u32(-2 ^ 31) == 2 ^ 31
  exact = exact + (all and 1 or 0)
end
is(exact, 1009, "u64 and its kin of negative numbers")
is(up.u64(2 ^ 63), 0x8000000000000000ULL, "… of 2^63")
is(up.i64(2 ^ 63), -0x8000000000000000LL, "i64 of 2^63")
tap.done_testing()
