-- Arguments of USDT probes that are variables by a name which several files of the program have each for themselves.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

-- What the handler at PROBE of PROGRAM sees of EXPRESSION, as "value count, …"; and what is said.
local function seen(program, probe, expression)
  local code = ([[
n = count()
usdt("%s:%s", function(e) n[%s]:inc() end)
at_exit(function() for k, v in n:pairs() do print("=", k, v) end end)]]):format(program, probe, expression)
  local r = target.uplua(("-e %s -- %s"):format(target.quote(code), program))
  local lines = {}
  for text, number in r.out:gmatch "=\t([^\n]-)\t(%d+)" do lines[#lines + 1] = text .. " " .. number end
  table.sort(lines)
  return table.concat(lines, ", "), r.err
end

local PROGRAM = "./build/targets/usdt_statics"
is(seen(PROGRAM, "t:rip", '{ e.arg0, e.arg1 }'), "-5, -300 3, 77, 1234 3", "each file has its own")
is(seen(PROGRAM, "t:inside", "e.arg0"), "11 3, 22 3", "in static functions")
is(seen(PROGRAM, "t:count", "e.arg0"), "101 3, 23 3", "of functions themselves")

-- Without debug information the symbol table has the variables beside the static functions of their files.
local BARE = PROGRAM .. "-bare"
is(seen(BARE, "t:inside", "e.arg0"), "11 3, 22 3", "by the symbol table alone")
if require "ffi".arch == "x64" then
  like(select(2, seen(BARE, "t:rip", "e.arg0")),
    "arg0[^\n]* cannot be read in a handler: the note names a symbol for it that several source files",
    "where it is not known, it is refused")
end
is(seen(BARE, "t:rip", "1"), "1 6", "but for handlers that do not ask")

target.done()
tap.done_testing()
