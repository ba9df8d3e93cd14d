-- Probes that have slid and probes at the entries see the same calls in the same state (make test-slide does this for
-- thousands of functions); and calls that end the program in a function's first instructions are counted.
local tap = require "tap"
local target = require "target"

local X64 = require "ffi".arch == "x64"

-- --- every function of libc that two programs reach ---

-- Each place is a perf event of its own where there are no links for many, and takes tens of milliseconds to detach.
local MANY = target.has "uprobe_multi"
local SOME = X64 and "libc:malloc libc:free" or "'libc:str*' 'libc:mem*' 'libc:*alloc*' 'libc:f*'"
local SPEC = MANY and "'libc:*'" or SOME
local FUNCTIONS, SLID, CALLS = MANY and 100 or 2, MANY and 20 or 0, MANY and 101 or 23

for _, run in ipairs {
  { "arg0, arg0 to arg2, stack", "sort -r tests/lua/slide_test.lua" },
  { "all arguments, caller and stack pointer, stack", "sort tests/lua/slide_test.lua" },
  { "nothing, memory", "ls -lR tests" },
} do
  local command = 'ulimit -n 60000; SLIDE_READS=%s ./uplua tests/slide/compare.lua %s -- %s >"$D/out" 2>"$D/err"'
  local r = target.shell((command)
    :format(target.quote(run[1]), SPEC, run[2]))
  local functions, slid, calls, differences = r.out:match(
    "all: (%d+) functions were called, (%d+) of them compared at a slid site, (%d+) calls, (%d+) differences")
  if not tap.is(differences, "0", run[2] .. ", " .. run[1] .. ": no difference") then
    print((r.out .. r.err):gsub("[^\n]*\n", "#   %0"))
  end
  tap.ok((tonumber(functions) or 0) >= FUNCTIONS and tonumber(calls) >= CALLS,
    ("%s functions were called, %s times"):format(functions or 0, calls or 0))
  if X64 then tap.ok((tonumber(slid) or 0) >= SLID, ("%s of them are at a slid site"):format(slid)) end
end

-- --- calls that do not come far ---

local PROGRAM = "./build/targets/crashes"
local r = target.uplua(("--follow -e %s -- %s"):format(target.quote(([[
n = count()
uprobe("%s:crash_*", function(e) n[e.func]:inc() end)
at_exit(function()
  for name, count in n:pairs() do print("counted", name:match "crash_(.*)", tonumber(count)) end
end)]]):format(PROGRAM)), PROGRAM))
local kinds = 0
for name, ended in r.out:gmatch "\n?([%a_]+) (%d+)\n" do
  kinds = kinds + 1
  tap.is(ended, "23", name .. " ends its process")
  tap.is(r.out:match("counted\t" .. name .. "\t(%d+)"), "23", "… and is counted")
end
tap.ok(kinds >= 7, "each kind")
tap.is(r.err:match "not everything was seen.*", nil, "nothing is lost")

target.done()
tap.done_testing()
