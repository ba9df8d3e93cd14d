-- Counting without handlers: of a process that runs, of a command, its children, CPUs and cgroups; groups; what is
-- scaled.
local counter = require "uplua.probe.counter"
local tap = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

local PAGES, REGIONS = 101, 24
local PROGRAM = "./build/targets/faults"

local value, share = counter.scale(100, 1000, 250)
is(value, 400, "what was counted for a quarter of the time is scaled up")
is(share, 0.25, "… and by how much is told")
value, share = counter.scale(101, 1000, 1000)
is(value, 101, "what was counted all the time is as it is")
is(share, 1, "… which is told too")
value, share = counter.scale(0, 1000, 0)
is(value, nil, "what was never counted is not 0")
is(share, 0, "… which is told too")

-- The same faults, counted and handled one by one, while the process waits at the beginning and at the end.
local run = target.attached(PROGRAM .. " pages wait", [[-e '
  local c, group, n = counter "page-faults", counter { "page-faults", "minor-faults", "context-switches" }, count()
  perf("page-faults", 1, function(e) n:inc() end)
  after(0, function() io.stderr:write "tracing\n" end)
  at_exit(function()
    local value, share = c:read()
    local sum = 0
    for thread, there in pairs(c:places()) do sum = sum + there end
    print("read", value, n:get(), group:read()["page-faults"], group:read()["minor-faults"], sum, share)
    print(c)
    print("again", c:take(), c:take())
  end)']], true)
local c, n, g, minor, sum, part = run.out:match "read\t(%d+)\t(%d+)\t(%d+)\t(%d+)\t(%d+)\t(%d+)"
ok(c and tonumber(c) >= PAGES * REGIONS,
  ("a process: %s faults, of which %d are known"):format(tostring(c), PAGES * REGIONS))
is(c, n, "as many as a handler sees")
is(g, n, "as many in a group")
is(minor, n, "of which all are minor ones, in the same group")
is(sum, n, "as many in all threads together")
is(part, "1", "all the time")
like(run.out, "\n +2,%d%d%d  page%-faults\n", "print")
is(run.out:match "again\t(%d+)\t(.-)\n", n, "take: all since the beginning")

-- Switches between threads, of which a busy machine makes more: as many as a handler sees while the process waits at
-- the beginning and at the end.
run = target.attached(PROGRAM .. " switches wait", [[-e 'c, n = counter "context-switches", count()
  perf("context-switches", 1, function(e) n:inc() end)
  after(0, function() io.stderr:write "tracing\n" end)
  at_exit(function() print("n", (c:read()), n:get()) end)']], true)
local least = tonumber(run.target:match "switches (%d+)")
local seen, handled = run.out:match "n\t(%d+)\t(%d+)"
ok(least and seen and tonumber(seen) >= least,
  ("a process's switches: %s, of which %s are known"):format(tostring(seen), tostring(least)))
is(seen, handled, "as many as a handler sees")
run = target.uplua([[-e 'c = counter "context-switches" at_exit(function() print("n", (c:read())) end)' -- ]] ..
  PROGRAM .. " switches")
least, seen = tonumber(run.out:match "switches (%d+)"), tonumber(run.out:match "n\t(%d+)")
ok(least and seen and seen >= least, ("a command's: %s, of which %s are known"):format(tostring(seen), tostring(least)))
run = target.uplua [[-e 'c = counter "task-clock" at_exit(function() print("ns", (c:read())) end)' \
  -- ./build/targets/busy user]]
local used, ns = tonumber(run.out:match "used (%d+)"), tonumber(run.out:match "ns\t(%d+)")
ok(ns > 0.9e6 * used and ns < 1.1e6 * used, ("its CPU time: %.0f ms of %d"):format(ns / 1e6, used))

-- Nothing but a counter, and no target: the run lasts until it is stopped, and what nobody has read is printed.
run = target.uplua "--duration 0.1 -e 'c = counter(\"cpu-clock\") d = c e = counter { \"page-faults\", \"cpu-clock\" }'"
local clock, faults, again =
  run.out:match "^c:\n +([%d,]+)  cpu%-clock\ne:\n +([%d,]+)  page%-faults\n +([%d,]+)  cpu%-clock\n$"
ok(clock and tonumber((clock:gsub(",", ""))) >= 0.1e9 and tonumber((again:gsub(",", ""))) >= 0.09e9,
  "counters print at the end: " .. tostring(clock) .. " ns, " .. tostring(faults))
is(run.err, "", "… exactly: nothing was scaled, in a group neither")
run = target.uplua "--duration 0.1 -e 'c = counter(\"cpu-clock\") at_exit(function() print((c:read())) end)'"
ok(tonumber(run.out) and tonumber(run.out) >= 0.1e9, "… unless the script has looked")
local began = tonumber(io.popen "date +%s%N":read "*l")
run = target.uplua "--duration 0.1 -e ''"
ok(tonumber(io.popen "date +%s%N":read "*l") - began >= 0.1e9 and run.status == 0,
  "--duration is obeyed where there is nothing to wait for")
run = target.shell [[
  set -m
  ./uplua -e 'c = counter "page-faults"
  after(0, function() io.stderr:write "tracing\n" end)' >"$D/out" 2>"$D/err" & uplua=$!
  until_traces
  sleep 0.1 # in which it does not end by itself
  kill -INT $uplua || exit 97
  wait $uplua]]
is(run.status, 0, "without --duration until Ctrl-C")
run = target.uplua [[--duration 0.1 -e '
  local c = counter "cpu-clock"
  at_exit(function()
    local n, t = c:read(), up.now()
    while up.now() - t < 2e7 do end
    print(n == c:read(), n == c:take())
  end)']]
is(run.out, "true\ttrue\n", "what is read behind the end is of the end")
run = target.uplua [[-e '
  local c = counter "cpu-clock"
  local function works(ns) local t = up.now() while up.now() - t < ns do end end
  works(5e7)
  after(0, function()
    local n, cpus = c:read(), 0
    for _ in pairs(c:places()) do cpus = cpus + 1 end
    local since = up.now()
    c:clear()
    local m = c:read()
    local most = tonumber(up.now() - since) * cpus
    works(1e7)
    c:close()
    local closed = c:read()
    print(n >= 5e7 and m <= 1.01 * most + 1e5, closed >= 1e7, closed == c:read())
    exit()
  end)']]
is(run.out, "true\ttrue\ttrue\n", "clear begins anew, and what was counted until close can be read")

local function children(options)
  local got = target.uplua(([[-e 'c = counter("page-faults"%s)
    at_exit(function() print("n", (c:read())) end)' -- sh -c "%s pages >/dev/null; %s pages >/dev/null; true"]])
    :format(options, PROGRAM, PROGRAM))
  return tonumber(got.out:match "n\t(%d+)")
end
ok(children "" < PAGES * REGIONS, "what a shell starts is not counted")
ok(children ", { children = true }" >= 2 * PAGES * REGIONS, "with children = true it is")

-- A shell whose child is there already, and waits.
local function running(options)
  return target.attached(("sh -c '%s pages wait; true'"):format(PROGRAM), options .. [[ -e '
    local c, n = counter "page-faults", count()
    perf("page-faults", 1, function(e) n:inc() end)
    after(0, function() io.stderr:write "tracing\n" end)
    at_exit(function() print("read", (c:read()), n:get()) end)']], true).out:match "read\t(%d+)\t(%d+)"
end
c, n = running ""
ok(c and tonumber(c) < PAGES * REGIONS, "a child that a process has already is not counted")
c, n = running "--follow"
ok(c and tonumber(c) >= PAGES * REGIONS, ("with --follow it is: %s faults"):format(tostring(c)))
is(c, n, "as many as a handler sees")

-- ./uplua -e CODE on a process that does nothing.
local function on_sleeper(code)
  return target.shell(([[sleep 100 & program=$!
    ./uplua -e %s -- $program >"$D/out" 2>"$D/err"
    kill $program]]):format(target.quote(code)))
end
run = on_sleeper [[
  local clock, threads, taken = counter("cpu-clock", { cpus = true }), counter "task-clock", 0
  every("100ms", function() taken = taken + clock:take() end)
  after("550ms", function()
    local before = clock:read()
    taken = taken + clock:take()
    local total, n, least, own = clock:read(), 0, math.huge, 0
    for cpu, ns in pairs(clock:places()) do n, least = n + 1, math.min(least, ns) end
    for thread in pairs(threads:places()) do own = own + 1 end
    print("cpus", n, tostring(least > 0.5e9), tostring(before <= taken and taken <= total), own)
    exit()
  end)]]
local pipe = io.popen "grep -c ^processor /proc/cpuinfo"
local cpus = pipe:read "*l"
pipe:close()
is(run.out:match "cpus\t(.-)\n", cpus .. "\ttrue\ttrue\t1",
  "each CPU, what is taken adds up, and the one thread of the target")

-- A CPU with fewer counters than events, as the kernel tells of it: value, ns enabled, ns running of an event in two
-- places, at each reading.
run = target.script([[
  local up, core = require "uplua", require "uplua.core"
  local readings, at = {
    { { 1, { 300, 1000, 750 } }, { 2, { 600, 1000, 1000 } } },  -- 400 and 600
    { { 1, { 300, 2000, 750 } }, { 2, { 1200, 2000, 2000 } } }, -- unknown and 600: there 600, too
    { { 1, { 300, 3000, 750 } }, { 2, { 1200, 3000, 2000 } } }, -- unknown
    { { 1, { 303, 3001, 751 } }, { 2, { 1203, 3001, 2001 } } }, -- 3 and 3
  }, 0
  function core.event.count()
    return { read = function() at = math.min(at + 1, #readings) return readings[at] end, close = function() end }
  end
  c = up.counter "page-faults"
  for i = 1, 4 do print(c:take()) end
  print(c:read())
  c.looked = false
  up.exit()
]], "")
local sum, least = math.floor(303 * 3001 / 751 + 1203 * 3001 / 2001 + 0.5), 751 / 3001
is(run.out, ("1000\t0.75\n1200\t0\nnil\t0\n6\t1\n%d\t%.14g\nc:\n          3,015  page-faults (25.0 %%)\n"):format(sum,
  least), "what is scaled, and by how much")
is(run.err, "uplua: not everything was seen:\n  5 × counter page-faults: numbers that are estimates, " ..
            "since the CPU had counters free for it only 0.0 % of the time\n",
   "… which the ledger has, too")
run = target.script([[
  local core, at = require "uplua.core", 0
  function core.event.count()
    return { read = function() at = at + 1 return { { 0, { 75 * at, 100 * at, 75 * at } } }
      end, close = function() end }
  end
  arg[0] = "stat.lua"
  dofile "scripts/stat.lua"
]], "--count 2 -i 0.05 perf:page-faults:u")
like(run.out, "^Time +page%-faults:u\n%S+ +100 %(75.0 %%%)\n%S+ +100 %(75.0 %%%)\nSum +200 %(75.0 %%%)\n$",
  "stat.lua shows the share as perf does")
like(run.err, "× counter page%-faults:u: numbers that are estimates, " ..
              "since the CPU had counters free for it only 75.0 %% of the time\n$", "… and the ledger")

-- A cgroup, where one can be made.
local cgroup = target.cgroup()
if cgroup then
  local count = ([[-e '
    local c = counter("page-faults", { cgroup = arg[1] })
    os.execute(("echo $$ >%%s/cgroup.procs; exec ./build/targets/faults pages"):format(arg[1]))
    print("n", (c:read()))
    exit()' %s]]):format(cgroup)
  run = target.uplua(count)
  local remedy = run.err:match("counter page%-faults: this kernel counts in no cgroup as long as no controller has " ..
                               "been switched on; `(.-)` does that")
  if remedy then -- no systemd has been here
    os.execute(remedy)
    run = target.uplua(count)
  end
  os.execute("rmdir " .. cgroup)
  local inside = tonumber(run.out:match "n\t(%d+)")
  ok(inside and inside >= PAGES * REGIONS and inside < PAGES * REGIONS + 503,
    ("a cgroup's faults: %s"):format(tostring(inside)))
end

local tsc = io.open "/sys/bus/event_source/devices/msr/events/tsc"
if tsc then
  tsc:close()
  run = on_sleeper [[c = counter("msr/tsc/", { cpus = true })
    after("100ms", function() print("tsc", c:read() > 1e6) exit() end)]]
  like(run.out, "tsc\ttrue", "an event that a PMU names")
  like(target.uplua [[-e 'perf("msr/tsc/", 1000, function() end)' -- true]].err,
       "perf msr/tsc/: its PMU counts it, which up.counter shows, but runs no handler at it", "… which runs no handler")
end

local function refused(code, want, what)
  like(target.uplua(("-e '%s' -- true"):format(code)).err, want, what)
end
refused('counter "page-fault"', "%-e:1: counter page%-fault: no such event; did you mean 'page%-faults'%?",
  "an unknown event")
refused('counter()', "the argument is an event's name or a list of them", "no event")
refused('counter {}', "the argument is an event's name or a list of them", "no events")
refused('counter("page-faults", { cgruop = "/x" })', "counter: unknown option 'cgruop'; did you mean 'cgroup'",
  "an unknown option")
refused('counter("page-faults", { cpus = 1 })', "counter: option .cpus.: it is true or false, not 1",
  "an option of another type")
refused('counter("page-faults", { cgroup = "/nosuch" })',
  "counter page%-faults: no cgroup /nosuch: No such file or directory", "a cgroup that is not there")
refused('counter("page-faults", { cgroup = "/tmp" })', "/tmp is no cgroup that this kernel counts by",
  "a folder that is none")
target.done()
tap.done_testing()
