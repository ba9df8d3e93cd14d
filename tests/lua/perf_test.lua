-- Events that the kernel counts, and its timer: how often they run a handler, and what they say.
-- Runs once: no older kernel has other ways for events; profile_test takes stacks in them on such.
local tap = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

local PAGES, REGIONS = 101, 24
local PROGRAM = "./build/targets/faults"

local faults_of = target.folder() .. "-faults.lua"
local file = assert(io.open(faults_of, "w"))
file:write [[
local up = require "uplua"
local name, period = arg[1], tonumber(arg[2])
local at, seen = up.count { max = 65536 }, up.count()
up.perf(name, period, function(e)
  at[e.addr]:inc()
  seen[{ e.comm, e.period, e.probe, #e.comm > 0 and e.ip > 0 }]:inc()
end)
up.after(0, function() if arg[3] then io.stderr:write "tracing\n" end end) -- for target.attached
up.at_exit(function()
  for address, n in at:pairs() do print("fault", ("%#x"):format(address), n) end
  for k, n in seen:pairs() do print("seen", k[1], k[2], k[3], tostring(k[4]), n) end
end)
]]
file:close()

-- The faults in the regions that OUT, what the program printed, names: how many pages of them had one, how many there
-- were, and how many regions.
local function in_regions(run, out)
  local faults, regions = {}, {}
  for address, n in run.out:gmatch "fault\t(%w+)\t(%d+)" do faults[tonumber(address)] = tonumber(n) end
  for from, to in out:gmatch "region (%w+) (%w+)" do regions[#regions + 1] = { tonumber(from), tonumber(to) } end
  local pages, count = 0, 0
  for address, n in pairs(faults) do
    for _, region in ipairs(regions) do
      if address >= region[1] and address < region[2] then pages, count = pages + 1, count + n end
    end
  end
  return pages, count, #regions
end

for _, name in ipairs { "page-faults", "minor-faults" } do
  local run = target.uplua(("%s %s 1 -- %s pages"):format(faults_of, name, PROGRAM))
  is(run.err, "", name .. " of a command: nothing is lost")
  local pages, count, regions = in_regions(run, run.out)
  is(regions, REGIONS, "the program's regions")
  is(pages, PAGES * REGIONS, name .. ": each fresh page has its fault")
  is(count, PAGES * REGIONS, "… one")
  like(run.out, "seen\tfaults\t1\t" .. name:gsub("%-", "%%-") .. "\ttrue\t%d+", "e.period, e.probe and e.ip")
end

local run = target.attached(PROGRAM .. " pages wait", faults_of .. " page-faults 1 tell", true)
local pages, count, regions = in_regions(run, run.target)
is(regions, REGIONS, "of a process that runs")
is(pages, PAGES * REGIONS, "each page of the threads that were there, and of those that came later")
is(count, PAGES * REGIONS, "… once")

run = target.uplua(("%s page-faults 10 -- %s pages"):format(faults_of, PROGRAM))
pages, count = in_regions(run, run.out)
ok(count > 0.08 * PAGES * REGIONS and count < 0.12 * PAGES * REGIONS,
  ("one in ten: %d of %d"):format(count, PAGES * REGIONS))
like(run.out, "seen\tfaults\t10\t", "… which e.period says")

-- So many a second, for which the kernel finds a period: each sample has the address of its own fault.
run = target.uplua(([[-e 'n, others = count(), count()
  perf("page-faults:u", { hertz = 9999 }, function(e) n[e.addr]:inc() if e.addr == 0 then others:inc() end end)
  at_exit(function()
    for address, k in n:pairs() do print(("fault\t%%#x\t%%d"):format(tonumber(address), k)) end
    print("without", others:get())
  end)' -- %s pages]]):format(PROGRAM))
pages, count = in_regions(run, run.out)
ok(count > 0, ("%d of the faults by frequency are in the regions"):format(count))
is(pages, count, "… each in a page of its own")
is(run.out:match "without\t(%d+)", "0", "… none without an address")

-- Modifiers: the parts are all, and what there is not is refused.
run = target.uplua(([[-e 'u, k, all, host = count(), count(), count(), count()
  local function seen(of) return function() of:inc() end end
  perf("page-faults:u", 1, seen(u))
  perf("page-faults:k", 1, seen(k))
  perf("page-faults:uk", 1, seen(all))
  perf("page-faults:H", 1, seen(host))
  at_exit(function()
    print("parts", u:get() + k:get() == all:get(), all:get() == host:get(), u:get() >= %d)
  end)' -- %s pages]]):format(PAGES * REGIONS, PROGRAM))
is(run.out:match "parts\t(.-)\n", "true\ttrue\ttrue", "page-faults:u, :k, :uk and :H of one run")
for event, want in pairs {
  ["page-faults:p"] = "the kernel's own count, whose places are exact",
  ["cpu-clock:G"] = "guests have kernels of their own",
  ["cycles:pppp"] = ":ppp is the most precise", ["page-faults:x"] = "no such event",
} do
  like(target.uplua(("-e 'perf(%q, 1, function() end)' -- true"):format(event)).err,
    ("^uplua: %%-e:1: perf %s: .*%s"):format(event:gsub("%p", "%%%0"), want), event .. " is refused")
end

-- Switches, as getrusage counts them.
local SWITCHES = [['on, n = var(0), count()
  uprobe("./build/targets/faults:mark", function(e) on:set(e.arg0) end)
  perf("context-switches", 1, function(e) if on:get() == 1 then n[{ e:kstack(2) ~= nil, e.tid == e.pid }]:inc() end end)
  at_exit(function() print("seen", n:get { true, true } or 0) end)']]
run = target.uplua(("-e %s -- %s switches"):format(SWITCHES, PROGRAM))
local least, most = run.out:match "switches (%d+) to (%d+)"
local seen = tonumber(run.out:match "seen%s+(%d+)")
ok(least and tonumber(least) >= 90 and seen >= tonumber(least) and seen <= tonumber(most),
   ("each of its switches is seen: %s of %s to %s"):format(tostring(seen), tostring(least), tostring(most)))
is(run.err, "", "… without a loss")

-- Clocks. A tick that comes later than the next one is due is dropped: where others have the CPU of a virtual machine,
-- for which the program's clock may count it all the same, and more so of an emulated one.
local LEAST = tap.fewer(0.4, 0.05)
local stolen
local function clock_ticks(run, what)
  local used, ticks = tonumber(run.out:match "used (%d+)"), tonumber(run.out:match "ticks%s+(%d+)")
  local least = LEAST * (used - (target.stolen() - stolen) / 1e6) / 10
  ok(ticks > 0 and ticks >= least and ticks < 0.13 * used, ("%s: %d in %d ms"):format(what, ticks, used))
end
stolen = target.stolen()
run = target.uplua [[-e 'n = count() perf("cpu-clock", 10000000, function(e) n[e.period]:inc() end)
  at_exit(function() print("ticks", n[10000000]) end)' -- ./build/targets/busy user]]
clock_ticks(run, "cpu-clock by its period of 10 ms")
stolen = target.stolen()
run = target.uplua [[-e 'n = count() perf("cpu-clock", "10ms", function(e) n:inc() end)
  at_exit(function() print("ticks", n:get()) end)' -- ./build/targets/busy user]]
clock_ticks(run, "a period as a text")

stolen = target.stolen()
run = target.uplua [[-e 'n = count() perf("task-clock", { hertz = 99 }, function(e) n[e:ustack(1)]:inc() end)
  at_exit(function()
    local sum = 0
    for _, c in n:pairs() do sum = sum + c end
    print("ticks", sum)
  end)' -- ./build/targets/busy user]]
clock_ticks(run, "task-clock by frequency")

-- The kernel's timer, by its own times: nothing is traced that does anything, and it ticks once, not once for each CPU.
-- A tick that comes so late that the next one is due is dropped, as on a virtual machine that does not run for so long:
-- there are no more than their times permit, and some come as early as they should.
run = target.shell [[
  sleep 100 & program=$!
  ./uplua -e 'n, early, first, last = count(), count(), var(0), var(0)
  interval("10ms", function(e)
    n[{ e.cpu >= 0, e.probe }]:inc()
    if first:get() == 0 then first:set(e.time) elseif e.time - last:get() < 15000000 then early:inc() end
    last:set(e.time)
  end)
  every("100ms", function() if n:get { true, "10ms" } >= 101 then exit() end end)
  at_exit(function()
    print("ticks", n[{ true, "10ms" }], tonumber(last:get() - first:get()) / 1e6, early:get())
  end)' -- $program >"$D/out" 2>"$D/err"
  kill $program]]
local n, ms, early = run.out:match "ticks%s+(%d+)%s+(%S+)%s+(%d+)"
ok(n and tonumber(n) >= 101 and n - 1 <= ms / 10 + 3 and tonumber(early) > 0,
  ("interval: %s ticks of 10 ms in %s ms, %s of them in time"):format(tostring(n), tostring(ms), tostring(early)))

-- --cpu. An idle CPU may go without a switch for so long: something sleeps and wakes there.
run = target.shell [[
  taskset -c 0 sh -c 'while sleep 0.01; do :; done' & waking=$!
  ./uplua --cpu 0 --duration 60 -e 'n = count()
    interval("10ms", function(e) n[{ "interval", e.cpu }]:inc() end)
    perf("context-switches", 1, function(e) n[{ "switch", e.cpu }]:inc() end)
    c = counter "cpu-clock"
    local function both() return (n[{ "switch", 0 }] or 0) > 22 and (n[{ "interval", 0 }] or 0) > 22 end
    every("100ms", function() if both() then exit() end end)
    at_exit(function()
      print("switches on 0", both())
      for k in n:pairs() do if k[2] ~= 0 then print "elsewhere" end end
      for cpu in pairs(c:places()) do print("place", cpu) end
    end)' >"$D/out" 2>"$D/err"
  kill $waking]]
like(run.out, "switches on 0\ttrue", "--cpu: samples of one CPU")
ok(not run.out:find "elsewhere", "… of no other")
is(run.out:match "place\t(.-)\n", "0", "… a counter, too")
ok(not run.out:find "place\t1", "… of no other")
like(target.uplua([[--cpu 1023 -e 'perf("page-faults", 1, function(e) end)']]).err,
  "^uplua: %-%-cpu 1023: there is no CPU 1023, or it is offline; these are online: %d", "a CPU that is not there")
like(target.uplua([[--cpu 0,1000-1001 -e 'counter("page-faults", { cpus = true })']]).err,
  "^uplua: %-%-cpu 0,1000%-1001: there is no CPU 1000, or it is offline", "… beside one that is")
like(target.uplua([[--cpu 1-0 -e 'perf("page-faults", 1, function(e) end)']]).err,
  "%-%-cpu needs CPUs, as in %-%-cpu 0 or %-%-cpu 0,2%-3; got '1%-0'", "no list")
local function refused(code, want, what)
  if tap.fewer(false, true) then return end -- asks nothing of the kernel
  like(target.uplua(("-e '%s' -- true"):format(code)).err, want, what)
end
refused('perf("page-fault", 1, function() end)',
  "%-e:1: perf page%-fault: no such event; did you mean 'page%-faults'%?", "an unknown event")
refused('perf("LLC-load-mises", 1, function() end)', "did you mean 'LLC%-load%-misses'%?", "… of a cache")
refused('perf("page-faults", 0, function() end)',
  "%-e:1: perf: option 'period': 0 is not a whole number from 1 to 9007199254740992", "period 0")
refused('perf("page-faults", function() end)',
  "%-e:1: perf page%-faults: how often%? Options are the period, 1 for each event, or { hertz = N }", "no period")
refused('perf("page-faults", { 23, hertz = 1 }, function() end)', "perf page%-faults: how often%?", "both")
refused('perf("page-faults", { herz = 1 }, function() end)', "perf: unknown option 'herz'; did you mean 'hertz'%?",
  "an unknown option")
refused('perf("page-faults", { hertz = 0 }, function() end)',
  "perf: option 'hertz': 0 is not a whole number from 1 to 1000000", "0 Hz")
refused('perf("page-faults", 1)', "%-e:1: perf page%-faults: the last argument is the handler, a function",
  "no handler")
refused('perf(1, 1, function() end)', "the first argument is the event's name", "no name")
-- The least period of a clock follows from the most samples a second, which the kernel may lower meanwhile.
local LEAST_NS = 10000
local function least() return math.max(LEAST_NS, math.ceil(1e9 / target.max_hertz())) end
local NS = { ns = 1, us = 1e3, ms = 1e6 }
local function refused_below_least(code, pattern, what)
  if tap.fewer(false, true) then return end
  local before = least()
  local said, unit = target.uplua(("-e '%s' -- true"):format(code)).err:match(pattern)
  local ns = said and tonumber((said:gsub(",", ""))) * (NS[unit] or 1)
  ok(ns and ns >= 0.99 * before and ns <= 1.01 * least(), ("%s: %s ns is the least"):format(what, tostring(ns)))
end
refused_below_least('perf("cpu-clock", 1000, function() end)',
                    "perf cpu%-clock: its period is in nanoseconds, and this kernel permits none below ([%d,]+)()",
                      "a clock's period that is too short")
refused('perf("page-faults", "10ms", function() end)',
  "%-e:1: perf page%-faults: its period is a number of events, not '10ms'", "a time as the period of a count")
refused('perf("nosuch/event/", 1, function() end)', "this machine has no PMU nosuch; it has .*software",
  "an unknown PMU")
refused('n = count() perf("page-faults", 1, function(e) n[e.arg0]:inc() end)',
  "the event of a perf has no field 'arg0'; it has time, .*addr", "e.arg0")
refused('interval("1x", function() end)', "%-e:1: interval: '1x' is not a duration", "no duration")
refused_below_least('interval("1us", function() end)',
                    "%-e:1: interval 1us: that is too short; in a kernel's timer ([%d.]+) (%a+) is the least",
                      "too short an interval")
refused('n = count() interval("1s", function(e) n[e.pid]:inc() end)',
  "the event of an interval has no field 'pid'; it has time, cpu, task, probe", "an interval has no process")
local counters = target.shell [[ls /sys/bus/event_source/devices/cpu/type >"$D/out" 2>/dev/null]].out ~= ""
if not counters then
  refused('perf("cache-misses", 1000, function() end)',
          "%-e:1: perf cache%-misses: this machine has no hardware counters, as most virtual ones; " ..
          "there are .*cpu%-clock.*page%-faults", "no hardware counters")
  refused('perf("r1a2", 1000, function() end)', "no hardware counters", "… a raw event")
end
local most = target.max_hertz()
refused(('n = count() perf("page-faults", { hertz = %d }, function(e) n:inc() end)'):format(most + 1),
  "cannot sample %d+ times a second", "too often for the kernel")

-- Lowering it is the kernel's own doing, and would hit all other tests: a run is told that it was.
local function lowered_to(most, code)
  return target.uplua(([[-e 'n = count() %s
    after("100ms", function()
      local event = require "uplua.core".event
      local permitted = event.max_rate()
      function event.max_rate() return permitted - %d end
      exit()
    end)
    at_exit(function() n:get() end)']]):format(code, target.max_hertz() - most)).err
end
is(lowered_to(500, 'interval("1ms", function() n:inc() end) profile(99, function() n:inc() end) ' ..
                   'perf("page-faults", 1, function() n:inc() end)'),
   "uplua: not everything was seen:\n  1 × interval 1ms: throttled: the kernel permits only 500 samples a second " ..
   "meanwhile, to save time (sysctl kernel.perf_event_max_sample_rate)\n",
   "what the kernel throttles is told, and nothing else")
is(lowered_to(1001, 'interval("1ms", function() n:inc() end)'), "", "… where it can have been")
run = target.uplua [[--explain -e 'n = count() perf("page-faults", 100, function(e) n[e.addr]:inc() end)
  interval("1s", function(e) n[1]:inc() end)' -- true]]
like(run.out, "perf page%-faults\n  at       each thread of the target, at one in 100 of its page%-faults",
  "--explain: a target's threads")
like(run.out, "interval 1s\n  at       one CPU, every 1.0 s, idle or not", "… a timer")
run = target.uplua [[--explain -e 'n = count() perf("page-faults", { hertz = 99 }, function(e) n[e.addr]:inc() end)']]
like(run.out, "perf page%-faults\n  at       each CPU, 99 times a second", "… all CPUs")
os.remove(faults_of)
target.done()
tap.done_testing()
