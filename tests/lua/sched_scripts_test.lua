-- scripts/oncpu.lua, rundelay.lua, offwaketime.lua and softirqs.lua: on threads that spend their time in known ways,
-- and beside what the kernel counts.
local cjson  = require "cjson"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local PASTIMES = "./build/targets/pastimes"
local MS = 1e6

-- The rows of the tables, and the records, in what RUN has printed as JSON.
local function data_of(run)
  local rows, records = {}, {}
  for line in run.out:gmatch "{[^\n]+" do
    local one = cjson.decode(line)
    if one.type == "table" then
      for _, row in ipairs(one.rows) do rows[#rows + 1] = row end
    elseif one.type == "record" then
      records[#records + 1] = one
    end
  end
  return rows, records
end

-- --- oncpu ---

-- Of two clocks only one may count what a virtual CPU has stood still.
local stolen
local function near(what, seen, known, more)
  local room = 0.1 * known + 20 * MS + target.stolen() - stolen + (more or 0)
  ok(math.abs(seen - known) <= room, what, ("%.3f ms, not %.3f ms"):format(seen / MS, known / MS))
end

stolen = target.stolen()
local run = target.uplua("--format json oncpu.lua --top 0 -- " .. PASTIMES)
is(run.status .. run.err, "0", "oncpu.lua")
local rows, threads = data_of(run), 0
for name, tid, ran in run.out:gmatch "(%l+) (%d+) %d+ (%d+) %d+\n" do
  local sum, named, prio = 0, false, nil
  for _, row in ipairs(rows) do -- until it gives itself its name it has the program's
    if row.tid == tonumber(tid) then sum, named, prio = sum + row.sum, named or row.comm == name, row.prio end
  end
  threads = threads + (named and 1 or 0)
  if tonumber(ran) > 0 then near(name .. " runs as long as the kernel says", sum, tonumber(ran)) end
  is(prio, 120, name .. ": its priority")
end
is(threads, 5, "five threads")

local by_cpu = target.uplua("--format json oncpu.lua --by-cpu --top 0 -- taskset -c 0 nice -n 5 " .. PASTIMES)
is(by_cpu.status .. by_cpu.err, "0", "on one CPU")
local elsewhere, computed, nice = 0, 0, true
for _, row in ipairs((data_of(by_cpu))) do
  if row.comm == "computes" then
    if row.cpu ~= 0 then elsewhere = elsewhere + 1 end
    computed, nice = computed + row.sum, nice and row.prio == 125
  end
end
is(elsewhere, 0, "it is on that one alone")
ok(nice, "with the priority of nice 5")
near("computes", computed, 200 * MS)

local long = target.uplua("oncpu.lua --min 0 --top 1 -- " .. PASTIMES)
local _, lines = long.out:gsub("\n%d%d:%d%d:%d%d%.%d+ ", "")
ok(lines >= 101 + 23, "a line for each time", lines)

-- --- rundelay: two programs that compute on one CPU wait for each other ---

run = target.shell(([[
  ./uplua --format json rundelay.lua --than 1ms --most 64 --stack -o "$D/out" -- taskset -c 0 %s >/dev/null 2>"$D/err" &
  uplua=$!
  taskset -c 0 %s >/dev/null & busy=$!
  wait $uplua; status=$?; wait $busy; exit $status]]):format(PASTIMES, PASTIMES))
is(run.status, 0, "rundelay.lua")
local _, waits = data_of(run)
ok(#waits > 0, "there are waits", #waits)
local short, on_zero, stacks = 0, 0, 0
for _, wait in ipairs(waits) do -- taskset's own may be on another CPU
  if wait.took < MS then short = short + 1 end
  if wait.cpu == 0 or wait.comm ~= "computes" then on_zero = on_zero + 1 end
  if wait.stack then stacks = stacks + 1 end
end
is(short .. " " .. (#waits - on_zero), "0 0", "none is shorter, and all are for that CPU")
is(stacks, #waits, "each with its stack")
like(run.out, "[%d,]+ waits?: p50 ", "the percentiles of all")
run = target.shell(([[
  taskset -c 0 %s >/dev/null & busy=$!
  ./uplua rundelay.lua --than 1ms --most 64 -- taskset -c 0 %s >"$D/out" 2>"$D/err"; status=$?; wait $busy
  exit $status]]):format(PASTIMES, PASTIMES))
local known = 0
for _ in run.out:gmatch "\n +[%d.]+ [mu]s  %S+ %(thread %d+%)" do known = known + 1 end
ok(known > 0, "who had the CPU meanwhile", known)

run = target.uplua("rundelay.lua -- true")
is(run.status, 0, "a command that waits hardly")

-- --- offwaketime: a thread waits 101 times for a byte of the main thread's ---

stolen = target.stolen()
run = target.uplua("--format json offwaketime.lua --top 0 -- " .. PASTIMES)
is(run.status, 0, "offwaketime.lua")
local lived, ran, queued = run.out:match "waits %d+ (%d+) (%d+) (%d+)"
local waited, times = 0, 0
for _, row in ipairs((data_of(run))) do
  if row.comm == "waits" and row.waker == "pastimes" then waited, times = waited + row.ns, times + row.n end
end
-- Where the CPUs are busy, some of the bytes are there before the thread waits for them.
ok(times >= 20 and times <= 102, "it waits for the main thread", times)
if tonumber(ran) > 0 then
  -- A wait has the handler of the switch in it, for which an emulated CPU takes a part of a millisecond.
  near("for all its life but what it runs, or waits for a CPU", waited, lived - ran - queued,
       times * tap.fewer(0, MS))
end
run = target.uplua("offwaketime.lua -- " .. PASTIMES)
like(run.out, "\n +read%+%S+\n +waits%+[^|]-\n +ended by pastimes in\n[^|]-\n +write%+%S+\n +main%+",
  "with both stacks")
run = target.shell [[
  sleep 999 & program=$!
  await 'grep -q nanosleep /proc/$program/wchan' $program
  ./uplua --duration 100ms offwaketime.lua -- $program >"$D/out" 2>"$D/err"
  kill $program]]
like(run.out, "^no wait of 1.0 us or more has ended\nNot counted: a [^\n]*sleep[^\n]*\n$",
  "of a thread that waits all the time")

-- --- softirqs: no fewer than a part of what the kernel counts meanwhile, and no more than around it ---

run = target.shell [[
  set -m # else what runs beside it ignores SIGINT
  count() {
    local n=0 kind cpus
    while read -r kind cpus; do
      case $kind in TIMER:|SCHED:|RCU:|NET_RX:|BLOCK:) for i in $cpus; do n=$((n + i)); done ;; esac
    done </proc/softirqs
    echo $n
  }
  before=$(count)
  ./uplua --format json softirqs.lua --interval 100ms >"$D/out" 2>"$D/err" & uplua=$!
  await 'grep -q table "$D/out"' $uplua
  from=$(count); sleep 2; to=$(count)
  kill -INT $uplua; wait $uplua; status=$?
  echo $before $from $to $(count) >"$D/target"
  exit $status]]
is(run.status .. run.err, "0", "softirqs.lua")
local before, from, to, after = run.target:match "(%d+) (%d+) (%d+) (%d+)"
local seen, names, wrong = 0, {}, 0
for _, row in ipairs((data_of(run))) do
  if row.kind == "softirq" then
    names[row.name] = true
    if ("TIMER SCHED RCU NET_RX BLOCK"):find(row.name, 1, true) then seen = seen + row.n end
  end
  wrong = wrong + (row.sum >= row.max and row.max >= row.p50 and row.n > 0 and 0 or 1)
end
is(wrong, 0, "no sum is less than the longest, and no longest than the median")
ok(seen <= after - before, "no more softirqs than the kernel counts around it",
  ("%d of %d"):format(seen, after - before))
ok(seen >= (to - from) / 2, "no fewer than half of those that it counts meanwhile",
  ("%d of %d"):format(seen, to - from))
ok(names.TIMER and names.RCU, "some are always there")
run = target.uplua("--duration 1s softirqs.lua --by-cpu --histogram")
like(run.out, "\nsoftirq %u+\n +%[", "by CPU, with histograms")
target.done()
tap.done_testing()
