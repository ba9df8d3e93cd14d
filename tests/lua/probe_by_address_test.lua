-- Probes by address: at functions, inside of them, in files without symbols; and what is no instruction.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local function address_of(name)
  local pipe = io.popen("nm ./build/targets/busy")
  local found = pipe:read "*a":match("(%x+) T " .. name .. "\n")
  pipe:close()
  return tonumber(found, 16)
end
local tick = address_of "tick"
local stripped = "./build/targets/busy-stripped"

local function run(program, address, kind)
  return target.uplua(([[-e 'n = count() %s("%s:%#x", function(e) n[e.func]:inc() end)' -- %s calls]]):format(kind
    or "uprobe", program, address, program))
end

is(run("./build/targets/busy", tick).out:match "n: ([^\n]*)", "tick  100,003", "a function's first instruction")
is(run("./build/targets/busy", tick, "uretprobe").out:match "n: ([^\n]*)", "tick  100,003", "its return")
is(run(stripped, tick).out:match "n: ([^\n]*)", ("%#x  100,003"):format(tick), "a function without a name")
like(run("./build/targets/busy", tick + 1).err,
     "busy:0x%x+: no instruction starts at %+0x1 of tick; a probe inside of one would corrupt the program",
       "inside of an instruction")
like(run(stripped, tick + 1).err, "no instruction starts at %+0x1 of 0x%x+;", "… of a function without a name")
like(run("./build/targets/busy", 16).err,
  "busy:0x10: no code of %S*busy lies there; an address is the file's own, as nm prints it", "no code")

-- The second instruction of tick: 7 bytes behind the first, or 4, by CPU; the caller's stack is found by the tables.
local found
for inside = 2, 8 do
  local result = target.uplua(([[-e 'n = count() uprobe("%s:%#x", function(e) n[e:ustack(3)]:inc() end)
    at_exit(function()
    for s, count in n:pairs() do print(count, #s) end end)' -- %s calls]]):format(stripped, tick + inside, stripped))
  found = found or result.out:match "100003\t(%d)"
end
is(found, "3", "inside of a function")
target.done()
tap.done_testing()
