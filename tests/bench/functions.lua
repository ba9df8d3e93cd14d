-- All functions of three files, ten thousand of a program: at how many a count costs a step, how long it takes to find
-- out where probes are best, and how much memory that takes.
--   ./uplua tests/bench/functions.lua
local core = require "uplua.core"

local FILES, ROUNDS, GOAL = { "libc", "libcrypto", "/usr/bin/python3" }, 5, 60

local function memory()
  collectgarbage()
  local file = assert(io.open "/proc/self/status")
  local peak = tonumber(file:read("*a"):match "VmHWM:%s*(%d+)")
  file:close()
  return peak / 1024
end

-- How long it takes to resolve FILES with probes that slide as SLIDE says, in ms of CPU time; how many functions there
-- are, and at how many of them a count costs no step.
local function resolve(slide)
  local began, functions, emulated = os.clock(), 0, 0
  for _, file in ipairs(FILES) do
    local sites, missing = core.probe.resolve(file .. ":*", slide)
    if not sites then error(missing, 0) end
    local cheap, all = sites:emulated(0)
    functions, emulated = functions + all, emulated + cheap
  end
  return (os.clock() - began) * 1000, functions, emulated
end

local function median(list)
  table.sort(list)
  return list[math.ceil(#list / 2)]
end

resolve "off"
local before, took = memory(), {}
local functions, emulated, emulated_first
for i = 1, ROUNDS do
  local off, exact
  off, functions, emulated_first = resolve "off"
  collectgarbage()
  exact, functions, emulated = resolve "exact"
  collectgarbage()
  took[i] = exact - off
end
local ms = median(took)
print(("%d functions of a program (median of %d)"):format(functions, ROUNDS))
local function row(what, number, unit) print(("  %-58s %6.1f %s"):format(what, number, unit)) end
row("stepped at a count, on their first instructions", 100 - 100 * emulated_first / functions, "%")
row("stepped at a count, where probes slide to", 100 - 100 * emulated / functions, "%")
row("to find where they slide to, on top of finding them", ms,
    ("ms  (goal: at most %d) %s"):format(GOAL, ms <= GOAL and "ok" or "ABOVE THE GOAL"))
row("memory for it, at most", memory() - before, "MB")
os.exit(ms <= GOAL and 0 or 1)
