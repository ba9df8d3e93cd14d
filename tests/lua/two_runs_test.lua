-- Several runs in one process, one after the other and side by side: each has its own target, handlers, objects,
-- options and losses, and leaves nothing behind.
local core    = require "uplua.core"
local handler = require "uplua.probe.handler"
local life    = require "uplua.run.life"
local loop    = require "uplua.base.loop"
local run     = require "uplua.base.run"
local setup   = require "uplua.probe.setup"
local tap     = require "tap"
local target  = require "target"
local up      = require "uplua"
local is, like, ok = tap.is, tap.like, tap.ok

local PROGRAM = "build/targets/calls"
local F = "./" .. PROGRAM .. ":"

-- The descriptors of this process, as ls names what they are of: { [what] = how many }, and how many attach something.
local function descriptors()
  local found, attached = {}, 0
  local pipe = io.popen(("ls -l /proc/%d/fd"):format(core.system.pid()))
  for what in pipe:read "*a":gmatch "%-> ([^\n]*)" do
    what = what:gsub("%d+", "N")
    found[what] = (found[what] or 0) + 1
    if what:find "bpf_link" or what:find "perf_event" then attached = attached + 1 end
  end
  pipe:close()
  return found, attached
end

local function shown(counts)
  local parts = {}
  for what, count in pairs(counts) do
    if not what:find "^pipe" then parts[#parts + 1] = ("%s: %d"):format(what, count) end
  end
  table.sort(parts)
  return table.concat(parts, ", ")
end

local function ledger()
  local lines = {}
  for i, entry in ipairs(setup.ledger()) do lines[i] = ("%d × %s"):format(entry[2], entry[1]) end
  return table.concat(lines, "; ")
end

-- What the handlers of a script see of the functions of PROGRAM. Returns a table that has it at the end.
local function add3_by_stack()
  local n, last = up.count(), up.hash { key = "i64", value = "i64" }
  up.uprobe(F .. "add3", function(e)
    n[e:ustack()]:inc()
    last[e.arg2] = e.arg0
  end)
  local result = { calls = 0, threads = 0, named = true }
  up.at_exit(function()
    for s, count in n:pairs() do
      result.calls, result.named = result.calls + count, result.named and tostring(s):find "add3" ~= nil
    end
    for _, i in last:pairs() do result.threads = result.threads + (i == 22 and 1 or 0) end
  end)
  return result
end

local function returns_of_negative()
  local sum, seen, result = up.sum(), up.ring(), { calls = 0 }
  up.uretprobe(F .. "negative", { typed = true }, function(e)
    sum:add(e.ret)
    seen:emit { value = e.ret }
  end)
  seen:each(function(record) result.calls = result.calls + (record.value < 0 and 1 or 0) end)
  up.at_exit(function() result.sum = sum:get() end)
  return result
end

-- One after the other ---------------------------------------------------------------------------------------------

-- A run of PROGRAM with THREADS threads: what its script has seen, its exit status and its ledger.
local function one_run(threads, script)
  local options = { command = { PROGRAM, tostring(threads) } }
  local result
  return run.new(options):enter(function()
    local begun, status = life.begin(options, function() result = script() end)
    if not begun then return result, status end
    loop.run()
    status = life.finish()
    return result, status, ledger()
  end)
end

local before = descriptors()
for round = 1, 2 do
  local name = ("run %d"):format(round)
  local result, status, lost = one_run(1, add3_by_stack)
  is(result.calls, 23, name .. ": its handler's calls")
  is(result.threads, 1, "  … its hash's entries")
  ok(result.named, "  … its stacks have names")
  is(status, 0, "  … its command ends well")
  is(lost, "", "  … nothing was lost")

  result, status, lost = one_run(4, returns_of_negative)
  is(result.calls, 4 * 101, name .. " of another script and target: its returns, by a ring")
  is(result.sum, -4 * 5151, "  … and their sum")
  is(status, 0, "  … its command ends well")
  is(lost, "", "  … nothing was lost")
  is(select(2, descriptors()), 0, "  … nothing stays attached")
end

-- What the probes take is measured anew in each run that wants to know.
local function elapsed()
  local took, result = up.hist(), {}
  up.uretprobe(F .. "slow", function(e) took:add(e.elapsed) end)
  up.at_exit(function() result.calls, result.cost = took:get().count, up.probe_cost() end)
  return result
end
for _ = 1, 2 do
  local timed = one_run(1, elapsed)
  is(timed.calls, 1, "a run that asks how long calls take")
  like(timed.cost, "^net of the probe's own %d+%.%d us", "  … knows what its probes take")
end
local untimed = one_run(1, function()
  local result = add3_by_stack()
  up.at_exit(function() result.cost = up.probe_cost() end)
  return result
end)
is(untimed.cost, nil, "a run that does not ask knows nothing of it")

local _, failing = one_run(1, function() up.uprobe(F .. "no_such_function", function() end) end)
is(failing, 1, "a run that fails has its own exit status")
local _, ended = one_run(1, function() up.exit(23) end)
is(ended, 23, "one that its script ends, too")
local result, status = one_run(1, add3_by_stack)
is(status, 0, "… and the next one has neither")
is(result.calls, 23, "  … but its calls")

-- Side by side ----------------------------------------------------------------------------------------------------

-- Starts PROGRAM with THREADS threads, and waits until it does. Returns its PID, and a file: a byte there lets it go.
local function waiting(threads)
  local name = ("%s/%d"):format(target.folder(), threads)
  os.execute(("mkfifo %s.in; %s %d wait <>%s.in >%s.out &"):format(name, PROGRAM, threads, name, name))
  local pid = target.await("the program's readiness", function()
    return target.read(name .. ".out"):match "ready (%d+)\n"
  end)
  return tonumber(pid), assert(io.open(name .. ".in", "r+"))
end

local sides = {}
for i, script in ipairs { add3_by_stack, returns_of_negative } do
  local threads = i == 1 and 4 or 1
  local pid, input = waiting(threads)
  local options = { pids = { pid } }
  local side = { run = run.new(options), input = input, pid = pid }
  sides[i] = side
  side.begun = side.run:enter(life.begin, options, function() side.result = script() end)
end
ok(sides[1].begun and sides[2].begun, "two runs begin side by side")
for _, side in ipairs(sides) do
  is(side.run:enter(function() return core.target.pids()[1] end), side.pid, "  … each has its target")
  side.input:write "x"
  side.input:flush()
end
for _ = 1, 1000 do
  local left = 0
  for _, side in ipairs(sides) do
    if not side.run:enter(loop.stopping) then
      left = left + 1
      side.run:enter(loop.step, 0.05)
    end
  end
  if left == 0 then break end
end
is(sides[1].run:enter(loop.stopping), "target", "the first ends with its target")
is(sides[2].run:enter(loop.stopping), "target", "the second, too")
is(sides[1].run:enter(life.finish), 0, "the first reports while the second is attached")
ok(select(2, descriptors()) > 0, "  … and stays so")
is(sides[2].run:enter(life.finish), 0, "the second reports")
is(select(2, descriptors()), 0, "nothing stays attached")
result = sides[1].result
is(result.calls, 4 * 23, "the first run's calls")
is(result.threads, 4, "  … of all its threads")
ok(result.named, "  … with their names")
is(sides[1].run:enter(ledger), "", "  … and nothing lost")
result = sides[2].result
is(result.calls, 101, "the second run's calls")
is(result.sum, -5151, "  … and what they returned")
is(sides[2].run:enter(ledger), "", "  … and nothing lost")
is(#require "uplua.objects.object".all(), 0, "the run around them has none of their objects")

for _, side in ipairs(sides) do side.input:close() end
target.done()
sides = nil
jit.flush() -- compiled traces keep the functions alive that they were recorded from, and so the runs of these
collectgarbage() -- here, where nothing of them is left on Lua's stack
local left
pcall(target.await, "the descriptors of the runs", function() -- the kernel may take a moment
  collectgarbage()
  left = shown((descriptors()))
  return left == shown(before)
end)
is(left, shown(before), "a run that nobody has any more has left no descriptor")

-- What a handler is -----------------------------------------------------------------------------------------------

local function refused(fields)
  local good, message = pcall(handler.new, fields)
  return not good and message:gsub("^[^ ]*: ", "") or "none"
end
local function nothing() end

is(refused { provider = {}, spec = "f", handler = nothing, attach = nothing, user_memry = true },
   "a handler has no field 'user_memry'", "a field that is misspelled")
is(refused { provider = {}, spec = "f", handler = nothing, attach = nothing, result_bits = "8" },
   "a handler's field 'result_bits' is a number, not a string", "a field of another type")
is(refused { provider = {}, handler = nothing, attach = nothing },
   "a handler needs the field 'spec'", "a field that is not there")
is(refused { provider = {}, spec = "f", handler = nothing },
   "a handler needs the field 'attach', or waits", "nothing that attaches it")
local record = handler.new { provider = {}, spec = "f", handler = nothing, waits = true }
is(record.where, nil, "a field that is not set")
like(select(2, pcall(function() return record.wheer end)), "a handler has no field 'wheer'$", "one that there is not")
like(select(2, pcall(function() record.where = "x" end)), "is set when it is made$", "none is changed")

-- What is known of many places ------------------------------------------------------------------------------------

local sites = core.probe.resolve({ F .. "add3", F .. "negative" }, "exact", false)
local summary, list = sites:summary(), sites:list()
is(summary.count, #list, "a summary counts the places")
is(summary.symbol, "add3", "  … names the first")
is(table.concat(summary.names, " "), "add3 negative", "  … and all, where they differ")
ok(summary.at_entry, "  … says whether they stand at entries")
is(core.probe.resolve(F .. "add3"):summary().names, nil, "one function has one name")
is(#sites:list(1), 1, "a list has as many as are asked for")

tap.done_testing()
