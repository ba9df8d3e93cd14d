-- scripts/taskstate.lua, on threads that spend their time in known ways, against what they and the kernel count.
local cjson  = require "cjson"
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok



local PASTIMES = "./build/targets/pastimes"
local MS = 1e6
-- For which a thread may wait for a CPU to end on, when nobody sees it any more, on an idle machine.
local LAST = 100 * MS

local function rows_of(run)
  local list = {}
  for line in run.out:gmatch "{[^\n]+" do
    local record = cjson.decode(line)
    if record.type == "table" and record.rows[1] and record.rows[1].tid then
      for _, row in ipairs(record.rows) do list[row.tid] = row end
    end
  end
  return list
end

-- Of the threads that the program tells of.
local stolen = target.stolen()
local run = target.uplua("--format json taskstate.lua --state sleeping --top 0 -- " .. PASTIMES)
is(run.status .. run.err, "0", "threads with known pastimes")
stolen = target.stolen() - stolen
local rows, threads = rows_of(run), 0
local of_all = tonumber(run.out:match "all (%d+)\n")
local last = LAST + stolen -- on one that is not, no longer than all have waited for one before
for queued in run.out:gmatch "%l+ %d+ %d+ %d+ (%d+)\n" do last = last + tonumber(queued) end
for name, tid, lived, ran, waited in run.out:gmatch "(%l+) (%d+) (%d+) (%d+) (%d+)\n" do
  local row = rows[tonumber(tid)]
  threads = threads + 1
  lived, ran, waited = tonumber(lived), tonumber(ran), tonumber(waited)
  ok(row and row.comm == name and row.pid, name .. " is there", row and row.comm)
  local sum = 0
  for _, state in ipairs { "running", "preempted", "queued", "sleeping", "disk sleep", "iowait", "stopped", "idle" } do
    sum = sum + row[state]
  end
  -- A thread lives a while before it looks at the clock, and after.
  local beside = sum - lived
  ok(beside >= -10000 and sum <= of_all + last, name .. ": its states are all its time", ("%d beside"):format(beside))
  -- The kernel looks at its clock before the probes of a switch run, and these after: a machine that shares its CPUs
  -- with others may stand still for some ms in between. What it stands still is no time of the kernel's clock.
  local function near(what, seen, known)
    local difference, room = seen - known, 0.05 * known + 20 * MS + stolen
    ok(difference >= -room and difference <= room + beside, name .. ": " .. what,
       ("%.3f ms, not %.3f ms"):format(seen / MS, known / MS))
  end
  if ran > 0 then
    near("it runs", row.running, ran)
    near("it waits for a CPU", row.preempted + row.queued, waited)
  end
  local times = row["sleeping times"]
  -- Where the CPUs are busy, some of the bytes are there before the thread waits for them.
  if name == "computes" then ok(row.running >= 0.85 * 200 * MS, "it computes", row.running) end
  if name == "sleeps" then ok(times >= 20 and times <= 30 and row.sleeping >= 20 * 5 * MS, "it sleeps", times) end
  if name == "waits" then ok(times >= 20 and times <= 115 and row.sleeping >= 50 * MS, "it waits", times) end
end
is(threads, 5, "five threads")

-- --- who ended it, and both stacks ---

run = target.uplua("taskstate.lua --state sleeping --stacks --longest 500 --top 1 -- " .. PASTIMES)
is(run.status, 0, "with stacks")
like(run.out, "\nState +Times", "the states") -- the target's own lines come before
like(run.out, "\n… and 5 others\n", "so many threads")
local of_waits = 0
local LINE = "  waits %(thread %d+%) +%d%d:%d%d:%d%d%.%d+  (%l+) %(pid %d+, thread %d+%)"
for who, below in (run.out .. "\n"):gmatch(LINE .. "(.-)\n *[%d.]+ [mu]?s ") do
  if who == "pastimes" and below:find("\n    in\n.-read.-\n    ended in\n.-write") then of_waits = of_waits + 1 end
end
ok(of_waits >= 10, "the main thread's write ends the wait in read", of_waits)

run = target.uplua("taskstate.lua --state sleeping --than 4ms -- " .. PASTIMES)
local _, slow = run.out:gsub("\n%d%d:%d%d:%d%d%.%d+ +[%d.]+ ms  sleeps? +%(?thread", "")
local _, any = run.out:gsub("\n%d%d:%d%d:%d%d%.%d+ +[%d.]+ ms  ", "")
ok(any >= 23, "each that is no shorter has a line when it ends", any .. " " .. slow)

-- --- a process that runs already, one that is stopped, and intervals ---

run = target.shell [[
  set -m
  cat >"$D/told.lua" <<'END'
require("uplua").at_start(function() io.stderr:write "tracing\n" end)
dofile(table.remove(arg, 1))
END
  state() { await "grep -q '^State:.$1' /proc/$sleeper/status" $sleeper; }
  sleep 1000 & sleeper=$!
  await 'grep -q nanosleep /proc/$sleeper/wchan' $sleeper
  ./uplua --format json "$D/told.lua" scripts/taskstate.lua --top 0 -- $sleeper >"$D/out" 2>"$D/err" & uplua=$!
  until_traces
  sleep 0.2
  before=$(date +%s%N); kill -STOP $sleeper; state T; stopped=$(date +%s%N)
  sleep 0.3
  goes=$(date +%s%N); kill -CONT $sleeper; state S; after=$(date +%s%N)
  sleep 0.2
  kill -INT $uplua; wait $uplua; status=$?
  echo $sleeper $((goes - stopped)) $((after - before)) >"$D/target"; kill $sleeper; exit $status]]
local sleeper, least, most = run.target:match "(%d+) (%d+) (%d+)"
local row = rows_of(run)[tonumber(sleeper)]
is(run.status .. run.err, "0tracing\n", "a process that sleeps")
ok(row and row.stopped >= tonumber(least) and row.stopped <= tonumber(most), "it is stopped for a while",
  row and ("%.3f ms, not %.3f to %.3f"):format(row.stopped / MS, least / MS, most / MS))
ok(row and row.sleeping >= 400 * MS, "and sleeps before that and afterwards", row and row.sleeping)

run = target.uplua("taskstate.lua --blocked -- " .. PASTIMES)
like(run.out, "\nThread +PID +TID [^\n]*Times iowait +Longest iowait\n", "waits for disks")

run = target.uplua("taskstate.lua --interval 50ms -- " .. PASTIMES)
local _, reports = run.out:gsub("\nState +Times", "")
ok(reports >= 3, "reports in between", reports)
like(run.out, "\n%d%d:%d%d:[%d.]+ to %d%d:%d%d:[%d.]+, [%d.]+ ms\nState", "each with what it is of")

-- --- what uplua itself does with a command: a child that waits, and stops by ptrace until the first instruction ---

for _, command in ipairs { "./build/targets/interfaces", "sh -c ./build/targets/interfaces" } do
  run = target.uplua("--format json taskstate.lua --stacks --top 0 -- " .. command)
  local states = {}
  for line in run.out:gmatch "{[^\n]+" do
    for _, row in ipairs(cjson.decode(line).rows or {}) do
      if row.name then states[row.name] = row.total end
    end
  end
  is(states.stopped, 0, command .. ": nobody has stopped it but uplua")
  for _, script in ipairs { "offcputime.lua", "offwaketime.lua" } do
    run = target.uplua(script .. " --min 0 --top 0 -- " .. command)
    ok(not run.out:find "command_fork" and not run.out:find "ptrace_stop", script .. ": no wait of uplua's own",
      run.out)
  end
end

-- --- what cannot be ---

like(target.uplua("taskstate.lua --state sleepin -- true").err,
  "%-%-state: there is no state 'sleepin'; there are running, preempted", "a state that there is not")
like(target.uplua("--cpu 0 taskstate.lua -- true").err, "%-%-cpu: a thread is in its states on whatever CPU", "one CPU")
target.done()
tap.done_testing()
