-- oncpu.lua, taskstate.lua and rundelay.lua beside perf sched timehist, each on one run of threads that spend their
-- time in known ways: how often each came to a CPU, how long it ran, and how long it waited for one after it was woken.
package.path = "tests/lua/?.lua;tests/neighbours/?.lua;" .. package.path
local cjson  = require "cjson"
local tap    = require "tap"
local target = require "target"
local is, ok = tap.is, tap.ok

local run = target.shell [[
  set -m # else what runs beside it ignores SIGINT
  mount | grep -q tracefs || mount -t tracefs none /sys/kernel/tracing
  perf sched record -o "$D/sched.data" -- ./uplua --format json oncpu.lua --top 0 -- ./build/targets/pastimes \
    >"$D/out" 2>"$D/err" || exit
  perf sched timehist -s -i "$D/sched.data" >"$D/target" 2>/dev/null]]
is(run.status, 0, "oncpu.lua beside perf sched record")
local perf = {}
for name, tid, times, ms in run.target:gmatch "(%l+)%[(%d+)/?%d*%]%s+%-?%d+%s+(%d+)%s+([%d.]+)" do
  perf[tonumber(tid)] = { name = name, times = tonumber(times), ns = tonumber(ms) * 1e6 }
end
local NAMES, compared = { computes = true, sleeps = true, waits = true, yields = true }, 0
for line in run.out:gmatch "{[^\n]+" do
  local one = cjson.decode(line)
  for _, row in ipairs(one.type == "table" and one.rows or {}) do
    local theirs = perf[row.tid]
    if NAMES[row.comm] and theirs then
      compared = compared + 1
      -- perf leaves out a thread's first time and its last one.
      ok(math.abs(row.times - theirs.times) <= 2 + 0.02 * theirs.times, row.comm .. ": as many times",
        ("%d, perf %d"):format(row.times, theirs.times))
      ok(math.abs(row.sum - theirs.ns) <= 0.05 * theirs.ns + 20e6, row.comm .. ": as long",
        ("%.3f ms, perf %.3f ms"):format(row.sum / 1e6, theirs.ns / 1e6))
    end
  end
end
is(compared, 4, "threads are compared")

-- Runs SCRIPT beside perf on the same run of the program. Returns its records and rows, and what perf has of each
-- thread, by its number: { name, ran, delay, longest }, in ns.
local function beside_perf(script)
  local r = target.shell(([[
    set -m
    perf sched record -o "$D/sched.data" -- ./uplua --format json %s -- ./build/targets/pastimes >"$D/out" 2>"$D/err" \
      || exit
    perf sched timehist -i "$D/sched.data" >"$D/target" 2>/dev/null]]):format(script))
  is(r.status, 0, script .. " beside perf sched record")
  local threads, records, rows = {}, {}, {}
  for name, tid, delay, ran in r.target:gmatch "(%l+)%[(%d+)/?%d*%]%s+[%d.]+%s+([%d.]+)%s+([%d.]+)" do
    local thread = threads[tonumber(tid)] or { name = name, ran = 0, delay = 0, longest = 0 }
    threads[tonumber(tid)], thread.name = thread, name
    thread.ran, thread.delay = thread.ran + tonumber(ran) * 1e6, thread.delay + tonumber(delay) * 1e6
    thread.longest = math.max(thread.longest, tonumber(delay) * 1e6)
  end
  for line in r.out:gmatch "{[^\n]+" do
    local one = cjson.decode(line)
    if one.type == "record" then records[#records + 1] = one end
    for _, row in ipairs(one.type == "table" and one.rows or {}) do rows[#rows + 1] = row end
  end
  return records, rows, threads, r
end

local function near(what, ours, theirs)
  ok(math.abs(ours - theirs) <= 0.05 * theirs + 20e6, what, ("%.3f ms, perf %.3f ms"):format(ours / 1e6, theirs / 1e6))
end

local _, rows, threads = beside_perf "taskstate.lua --top 0"
compared = 0
for _, row in ipairs(rows) do
  local theirs = threads[row.tid]
  if NAMES[row.comm] and theirs then
    compared = compared + 1
    near(row.comm .. ": running", row.running, theirs.ran)
    near(row.comm .. ": woken, and waiting for a CPU", row.queued, theirs.delay) -- others' waits are not perf's delays
  end
end
is(compared, 4, "threads are compared")

local records, _, delays = beside_perf "rundelay.lua --than 0"
local longest = {}
compared = 0
for _, record in ipairs(records) do
  if record.why:find "^woken" then longest[record.tid] = math.max(longest[record.tid] or 0, record.took) end
end
for tid, took in pairs(longest) do
  if delays[tid] and NAMES[delays[tid].name] and delays[tid].name ~= "computes" then
    compared = compared + 1
    near(delays[tid].name .. ": its longest wait after it was woken", took, delays[tid].longest)
  end
end
ok(compared >= 2, "waits are compared", compared)
target.done()
tap.done_testing()
