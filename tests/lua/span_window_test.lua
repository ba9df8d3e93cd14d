-- Windows of slow spans (uplua.span.window): what happened around a slow request, exactly that, and what is missing.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local PROGRAM = "build/targets/requests"
local FEW, SLOW = 101, 11 -- requests, and those that sleep for 12 ms: 0, 10 … 100; others may be slow on a busy machine

-- Runs a script with the span `s` on FEW requests.
local function run(text, options)
  return target.script(([[
    local up   = require "uplua"
    local span = require "uplua.span"
    local function number(e) return e.arg0 end
    local s = span.new { %s
      from = { "usdt:app:queued", key = number }, to = { "usdt:app:answered", key = number },
      via = { { "usdt:app:started", key = number } },
    }
    local STEP, NOTE, NOISE = "./build/targets/requests:step", "./build/targets/requests:note",
      "./build/targets/requests:noise"
    local slept = 0
    local function calls(s)
      if s.key %% 10 == 0 then slept = slept + 1 end -- each test calls this for each of its spans
      local list = {}
      for i, event in ipairs(s.events) do list[i] = event.call end
      return table.concat(list, " ")
    end
    up.at_exit(function() print("slept", slept) end)
    %s]]):format(options or "", text), ("-- %s %d"):format(PROGRAM, FEW))
end
local function slept(r) return tonumber(r.out:match "slept\t(%d+)") end

local STEPS = [[
local function steps(s)
  local list = {}
  for k = 0, 4 do list[k + 1] = ("step(i=%d, k=%d)"):format(s.key, k) end
  return table.concat(list, " ")
end
]]

-- However long it takes from the note to the request.
local r = run(STEPS .. [[
s:slow("10ms", { window = { { STEP, key = number }, { NOTE, key = number }, by = "key", before = "10s" } }, function(s)
  local right = calls(s) == ("note(i=%d) "):format(s.key) .. steps(s) and #s.missing == 0
  for i, event in ipairs(s.events) do
    right = right and event.time - s.from.time == event.since and event.comm == "requests" and event.pid == s.from.pid
    if i == 1 then right = right and event.since < 0 and event.tid == s.from.tid end
    if i > 1 then right = right and event.since > 0 and event.time < s.to.time and event.tid == s.via[1].tid end
  end
  print("by key", right, s.key)
end)]])
is(slept(r), SLOW, "each slow request comes, the last one too, though the program has ended before its window has")
is(r.out:match "by key\tfalse[^\n]*", nil, "by key: what was done for the request, before it and in it, in order")
is(r.err, "", "nothing was lost")

r = run(STEPS .. [[
s:slow("10ms", { window = { STEP, NOTE, NOISE, before = 0, after = 0 } }, function(s)
  print("by thread", calls(s) == steps(s), s.key)
end)]])
is(slept(r), SLOW, "by thread: each slow request")
is(r.out:match "by thread\tfalse[^\n]*", nil, "what its threads did meanwhile, and no others")

r = run(STEPS .. [[
s:slow("10ms", { window = { { STEP, where = function(e) return e.arg1 < 4 end }, by = "all", before = 0, after = 0 } },
  function(s) print("all", calls(s) .. (" step(i=%d, k=4)"):format(s.key) == steps(s), s.key) end)]])
is(slept(r), SLOW, "by = all: each slow request")
is(r.out:match "all\tfalse[^\n]*", nil, "what anybody did meanwhile, where `where` says so")

r = run [[
s:slow("10ms", { window = { NOISE, "usdt:app:answered", by = "process", before = "2ms", after = "2ms" } }, function(s)
  local noise, answers, within = 0, 0, true
  for _, event in ipairs(s.events) do
    if event.name == "noise" then noise = noise + 1 end
    if event.time == s.to.time then answers = answers + 1 end
    within = within and event.since >= -2000000 and event.time <= s.to.time + 2000000
  end
  print("by process", within, s.key, calls(s))
  if noise > 3 then print "noise" end -- it is one a millisecond, where there is a CPU for it
end)]]
is(slept(r), SLOW, "by process: each slow request")
is(r.out:match "by process\tfalse[^\n]*", nil, "what its process did, from 2 ms before to 2 ms after")
like(r.out, "\nnoise\n", "… its other threads, too")

r = run [[
s:slow("10ms", { window = { NOISE, STEP, by = "cpu" } }, function(s)
  local cpus, right = { [s.from.cpu] = true, [s.to.cpu] = true, [s.via[1].cpu] = true }, true
  for _, event in ipairs(s.events) do right = right and cpus[event.cpu] or false end
  print("by cpu", right, calls(s):find(("step(i=%d, k=0)"):format(s.key), 1, true) ~= nil, s.key)
end)]]
is(slept(r), SLOW, "by cpu: each slow request")
is(r.out:match "by cpu\tfalse[^\n]*" or r.out:match "by cpu\ttrue\tfalse[^\n]*", nil, "what was on its CPUs")

r = run [[
s:slow("10ms", { window = { "interval:1ms", NOISE, by = "all" } }, function(s)
  local _, ticks = calls(s):gsub("interval:1ms%(%)", "")
  if ticks > 3 then print("timer", s.key) end
end)]]
is(slept(r), SLOW, "timers: each slow request")
like(r.out, "timer\t%d", "what no thread did")

r = run [[
s:slow("10ms", { window = { STEP, NOTE, by = "all", before = "1s", size = "4K" } }, function(s)
  local right = true
  for _, gap in ipairs(s.missing) do
    right = right and gap.from < gap.to and gap.from >= s.from.time - 1e9
    for _, event in ipairs(s.events) do
      if event.cpu == gap.cpu and event.time < gap.to then right = false end
    end
  end
  print("small", right, #s.missing)
end)]]
is(r.out:match "small\tfalse[^\n]*", nil,
  "a window larger than its memory tells the time of which something is missing")
local cut = 0
for missing in r.out:gmatch "small\ttrue\t(%d+)" do cut = cut + (missing ~= "0" and 1 or 0) end
ok(cut > 3, "which is so for the later ones")
like(r.err, cut .. " × span usdt:app:queued → usdt:app:answered: windows of which a part was overwritten before the "
  .. "span ended", "and is in the ledger")

for wrong, message in pairs {
  ["window = {}"] = "slow: a window names no probe",
  ["window = 'syscall:*'"] = "slow: a window is a list of specs",
  ["window = { STEP, by = 'task' }"] = "option 'by': it is one of thread, process, cpu, key, all, not 'task'",
  ["window = { STEP, by = 'key' }"] = "it is by key: give { SPEC, key = function%(e%) … end }",
  ["window = { { STEP, key = number } }"] = "a key is for by = \"key\"",
  ["window = { 'interval:1ms' }"] = "its events are no thread's: by = \"cpu\" or \"all\"",
  ["window = { STEP, wide = 1 }"] = "unknown option 'wide'",
  ["window = { { STEP, wide = 1 } }"] = "unknown option 'wide'",
} do
  like(run(("s:slow(0, { %s }, print)"):format(wrong)).err, message, "refused: " .. wrong)
end

-- --- examples/requests.lua ---

r = target.uplua(("examples/requests.lua -- %s %d"):format(PROGRAM, FEW))
local took, number = {}, nil
for line in r.out:gmatch "[^\n]+" do
  number = tonumber(line:match "^request (%d+) took") or number
  if number then took[number] = (took[number] or "") .. line end
end
local whole = 0
for i = 0, 100, 10 do
  local events = took[i] or ""
  if events:find "futex%(.*sched:sched_switch%(" then whole = whole + 1 end
end
is(whole, SLOW, "the example shows the slow requests, with what their threads did")
like(r.out, "98 requests answered by requests: ", "and the others in its histogram")
is(r.err, "", "its ledger is empty")

target.done()
tap.done_testing()
