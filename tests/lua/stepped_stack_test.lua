-- Stacks of threads that the kernel has execute code of its own, on behalf of probes: they are where the program is.
local tap = require "tap"
local target = require "target"
local is, ok = tap.is, tap.ok

local PROGRAM = "./build/targets/stepped"
local FUNCTIONS = { "stepped", "calling", "returned", "pushing", "padded" }

-- Probes on all of them, which take the stack, too.
local probes = target.folder() .. "-probes.lua"
local file = assert(io.open(probes, "w"))
file:write [[
local up = require "uplua"
local hits, returns = up.count(), up.count()
for _, name in ipairs { "stepped", "calling", "pushing", "padded" } do
  up.uprobe(arg[1] .. ":" .. name, { slide = false }, function() hits[name]:inc() end)
end
up.uretprobe(arg[1] .. ":returned", function() returns["returned"]:inc() end)
up.after(0, function() io.stderr:write "tracing\n" end)
up.at_exit(function()
  for _, name in ipairs { "stepped", "calling", "pushing", "padded" } do print("hits", name, hits[name]) end
  print("hits", "returned", returns["returned"])
end)
]]
file:close()

-- Samples of it: of each stack how often, whether it is whole, and its functions; and the functions of e.ip.
local sampler = target.folder() .. "-sampler.lua"
file = assert(io.open(sampler, "w"))
file:write("local HERTZ = ", target.hertz(9973), [[

local up = require "uplua"
local stacks, places = up.count(), up.count()
local function sample(e)
  stacks[e:ustack()]:inc()
  places[{ e.pid, e.ip }]:inc()
end
if arg[1] == "user" then up.perf("cpu-clock:u", { hertz = HERTZ }, sample) else up.profile(HERTZ, sample) end
up.after(0, function() io.stderr:write "tracing\n" end)
up.at_exit(function()
  for s, count in stacks:pairs() do
    local names = {}
    for i, frame in ipairs(s:frames()) do names[i] = frame.symbol or frame.module or "?" end
    print("stack", count, s:incomplete() or "whole", table.concat(names, " "))
  end
  for key, count in places:pairs() do
    local frame = up.symbol(key[1], key[2])
    if not frame.kernel then print("place", count, frame.symbol or frame.module or "?") end
  end
end)
]])
file:close()

-- What can be below such a function: of the first two, what they call, which is jumped to on aarch64.
local BELOW = { ["stepped main"] = "stepped", ["calling main"] = "calling", ["quick calling"] = "calling",
  ["quick main"] = "calling", ["returned main"] = "returned", ["pushing main"] = "pushing",
  ["padded main"] = "padded" }
local PLACES = { quick = "calling" }
for _, name in ipairs(FUNCTIONS) do PLACES[name] = name end

local HIDDEN = "^uplua: not everything was seen:\n +(%d+) × stack cut at a frame whose return address a return " ..
  "probe hides\n$"

-- One run: what is printed, and what is said.
local function run_of(kind)
  return target.shell(([[
    %s wait >"$D/target" &
    program=$!
    trap 'kill $program $uplua $sampler 2>/dev/null' EXIT
    until_said ready
    ./uplua %s %s -- $program >"$D/hits" 2>"$D/err" &
    uplua=$!
    until_traces
    ./uplua %s %s -- $program >"$D/out" 2>"$D/errors" &
    sampler=$!
    await 'grep -q tracing "$D/errors"' $sampler
    kill -USR1 $program
    until_said done
    kill -TERM $sampler $uplua
    wait $sampler $uplua
    cat "$D/hits" >>"$D/out"
    cat "$D/errors" >>"$D/err"
  ]]):format(PROGRAM, probes, PROGRAM, sampler, kind))
end

-- Notes in SEEN what the stacks of RUN are: how many samples, in which functions, and what is wrong with one.
local function note(seen, run)
  -- A return address is hidden for a moment before the kernel's list says what it was: that is said.
  local said = run.err:gsub("tracing\n", "")
  if said ~= "" and not said:match(HIDDEN) then seen.said = said end
  for count, whole, names in run.out:gmatch "stack\t(%d+)\t([^\t\n]*)\t([^\n]*)" do
    seen.samples = seen.samples + tonumber(count)
    local name = BELOW[names:match "^%S+ %S+"]
    if name then seen[name] = (seen[name] or 0) + count end
    if whole ~= "whole" then seen.incomplete = names .. ": " .. whole end
    local passed = names:find "^returned %[uprobes%]"
    for _, one in ipairs(FUNCTIONS) do
      if not (name or passed) and (" " .. names):find(" " .. one .. " ", 1, true) then seen.wrong = names end
    end
    if names:find("uprobes", 1, true) and not passed then seen.wrong = names end
  end
  for count, name in run.out:gmatch "place\t(%d+)\t([^\n]*)" do
    if PLACES[name] then seen.places[PLACES[name]] = (seen.places[PLACES[name]] or 0) + count end
    if name:find "uprobes" then seen.strange = name end
  end
end

-- Whether there are samples of each function in SEEN, and enough of all.
local function is_enough(seen)
  for _, name in ipairs(FUNCTIONS) do
    if not seen[name] then return false end
  end
  return seen.samples > 101
end

-- How often a run is sampled depends on how much of a CPU the machine has for it.
local MOST_RUNS = 15
for _, kind in ipairs { "all", "user" } do
  local seen, runs, counted = { samples = 0, places = {} }, 0, {}
  repeat
    local run = run_of(kind)
    runs = runs + 1
    note(seen, run)
    for _, name in ipairs(FUNCTIONS) do
      counted[name] = (counted[name] or 0) + (tonumber(run.out:match("hits\t" .. name .. "\t(%d+)")) or 0)
    end
  until is_enough(seen) or runs == MOST_RUNS
  is(seen.said, nil, kind .. ": nothing is missing")
  ok(seen.samples > 101, ("%s: %d samples in %d runs"):format(kind, seen.samples, runs))
  is(seen.incomplete, nil, "each stack is whole")
  is(seen.wrong, nil, "and names the program's functions, one below the other")
  is(seen.strange, nil, "no place is in the kernel's code")
  for _, name in ipairs(FUNCTIONS) do
    ok(seen[name], ("samples are in %s: %d, and places of samples: %d"):format(name, seen[name] or 0,
      seen.places[name] or 0))
    is(counted[name], runs * 2003, "whose calls are counted")
  end
end

os.remove(probes)
os.remove(sampler)
tap.done_testing()
