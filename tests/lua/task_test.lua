-- e.task and e.ppid: the thread that runs, as the kernel's struct has it, in every kind of handler.
local tap = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

if not exists "/sys/kernel/btf/vmlinux" then tap.skip_rest "the kernel has no BTF" end

-- --- every kind: e.task is the thread that the event's other fields tell of ---

local SAME = "e.task.pid == e.tid and e.task.tgid == e.pid and e.task.group_leader.pid == e.pid and " ..
             "e.task.comm == e.comm and e.task.real_parent.tgid == e.ppid and up.kstr(up.u64(e.task.comm)) == e.comm"
local PROGRAM = "./build/targets/probe_kinds"
local kinds = {
  { "uprobe", 'up.uprobe("PROGRAM:deed", HANDLER)' },
  { "uretprobe", 'up.uretprobe("PROGRAM:deed", HANDLER)' },
  { "usdt", 'up.usdt("PROGRAM:app:deed", HANDLER)' },
  { "tracepoint", 'up.tracepoint("signal:signal_generate", HANDLER)', when = "e.args.sig == 23" },
  { "raw_tracepoint", 'up.raw_tracepoint("signal_generate", HANDLER)', when = "e.args.sig == 23" },
  { "syscall", 'up.syscall("lseek", HANDLER)', when = "e.args.whence == 7" },
  { "sysreturn", 'up.sysreturn("lseek", HANDLER)', when = "e.args.whence == 7" },
  { "perf", 'up.perf("page-faults", 1, HANDLER)' },
  { "profile", ('up.profile(%d, HANDLER)'):format(target.hertz(499)) },
  { "watch", 'up.watch("PROGRAM:watched", { "w", size = 8 }, HANDLER)', target.watches() },
  { "kprobe", 'up.kprobe("do_send_sig_info", HANDLER)', when = "e.arg0 == 23", target.has "kprobe" },
  { "kretprobe", 'up.kretprobe("do_send_sig_info", HANDLER)', when = "e.arg0 == 23", target.has "kprobe" },
  { "fentry", 'up.fentry("do_send_sig_info", HANDLER)', when = "e.arg0 == 23", target.has "trampoline" },
  { "fexit", 'up.fexit("do_send_sig_info", HANDLER)', when = "e.arg0 == 23", target.has "trampoline" },
}

-- A script that counts, by kind, hits at which the two agree and others, and the parents' numbers.
local script = { [[
local up = require "uplua"
local same, other, parents = up.count(), up.count(), up.count()
]] }
for _, kind in ipairs(kinds) do
  if kind[3] ~= false then
    local handler = ([[function(e)
  if not (%s) then return end
  if %s then same["%s"]:inc() else other["%s"]:inc() end
  parents[e.ppid]:inc()
end]]):format(kind.when or "e.pid > 0", SAME, kind[1], kind[1])
    script[#script + 1] = kind[2]:gsub("PROGRAM", PROGRAM):gsub("HANDLER", function() return handler end)
  end
end
script[#script + 1] = [[
local ticks, on_cpu = up.count(), up.count()
up.interval("20ms", function(e)
  ticks:inc()
  on_cpu[e.task.on_cpu]:inc()
end)
up.at_exit(function()
  for kind, n in same:pairs() do print("same", kind, n) end
  for kind, n in other:pairs() do print("other", kind, n) end
  local numbers = 0
  for _ in parents:pairs() do numbers = numbers + 1 end
  print("parents", numbers)
  print("interval", ticks:get() > 0, on_cpu[1] == ticks:get())
end)
]]
local run = target.script(table.concat(script, "\n"), "-- " .. PROGRAM .. " tasks")
is(run.status .. run.err, "0", "handlers of every kind load")
for _, kind in ipairs(kinds) do
  if kind[3] == false then
    tap.skip("the kernel has no probes of the kind " .. kind[1] .. " here")
  elseif kind[1] == "perf" or kind[1] == "profile" or kind[1] == "watch" then
    ok(tonumber(run.out:match("same\t" .. kind[1] .. "\t(%d+)") or 0) > 0, kind[1] .. ": the same thread")
  else
    like(run.out, "same\t" .. kind[1] .. "\t404\n", kind[1] .. ": the same thread each time")
  end
end
is(run.out:match "other[^\n]*", nil, "and never another one")
like(run.out, "parents\t1\n", "all have one parent, which is uplua")
like(run.out, "interval\ttrue\ttrue\n", "a timer's is the one that has the CPU")

run = target.shell [[
  (sh -c 'echo $PPID >"$D/target"; ./uplua -e "n = count() uprobe(\"./build/targets/calls:add3\",
    function(e) n[{ e.ppid, e.task.real_parent.real_parent.tgid }]:inc() end)" \
    -- ./build/targets/calls & echo $! $$ >>"$D/target"; wait' >"$D/out" 2>"$D/err")]]
local numbers = {}
for number in run.target:gmatch "%d+" do numbers[#numbers + 1] = number end
like(run.out, ("\nn: %s, %s  23\n"):format(numbers[2] or "?", numbers[3] or "?"),
  "its parent is uplua, whose is the shell")

-- --- need_resched, and how many threads can run ---

-- The bit of the flag differs by CPU and version: so each bit is counted.
run = target.script([[
local up = require "uplua"
local wakes, flags, few = up.count(), up.count(), up.count()
up.raw_tracepoint("sched_wakeup", function(e)
  local other = e.args.p.tgid == e.pid and e.args.p.pid ~= e.tid -- a timer wakes the one that is about to sleep
  if e.pid == e.tid and e.task.comm == "wakes" and other then
    local priority, queue = e.args.p.rt_priority, e.task.se.cfs_rq.rq
    wakes[{ priority, queue.rt.rt_nr_running }]:inc()
    if queue.nr_running < queue.rt.rt_nr_running then few:inc() end
    for i = 0, 7 do
      if bit.band(bit.rshift(e.task.thread_info.flags, i), 1) == 1 then flags[{ priority, i }]:inc() end
    end
  end
end)
up.at_exit(function()
  for k, n in wakes:pairs() do print("wakes", k[1], k[2], n) end
  for k, n in flags:pairs() do print("flag", k[1], k[2], n) end
  print("few", few:get())
end)
]], "-- ./build/targets/preempted")
if run.status == 77 then
  tap.skip "no threads of real time can be made here"
else
  is(run.status .. run.err, "0", "threads of real time")
  local patient = target.expected(1, 7, function(_, i) return ("10\t%d\t101"):format(i + 2) end)
  is(target.lines(run.out, "wakes"), patient .. "\n30\t2\t23", "how many can run at each waking")
  local set = 0
  for i = 0, 7 do
    local always = run.out:find(("flag\t30\t%d\t23\n"):format(i), 1, true)
    local patient_hits = tonumber(run.out:match(("flag\t10\t%d\t(%%d+)\n"):format(i)) or 0)
    -- Of 707. The other CPU may just have woken a thread of the kernel here, which is more urgent than all of these.
    if always and patient_hits <= 3 then set = set + 1 end
  end
  is(set, 1, "one flag, need_resched, is set whenever a more urgent thread is woken, and not when others are")
  like(run.out, "few\t0\n", "there are no fewer threads in all")
end

-- --- what cannot be ---

for _, case in ipairs {
  { 'n[e.task.nothing]:inc()', "'struct task_struct' has no field 'nothing'", "a field that there is not" },
  { 'if e.task then n:inc() end', "this condition is always true", "there is always one" },
  { 'e.task.pid = 3', "a handler cannot write to traced memory", "nothing can be written" },
  { 'n[e.task + 1]:inc()', "index it, as in p%[1%], or compute with its address: up%.u64%(p%)", "no arithmetic" },
} do
  like(target.uplua(("--explain -e %s"):format(target.quote(
    'n = count() uprobe("./build/targets/calls:add3", function(e) ' .. case[1] .. ' end)'))).err, case[2], case[3])
end
like(target.uplua [[--explain -e 'n = count() interval("1s", function(e) n[e.ppid]:inc() end)']].err,
  "the event of an interval has no field 'ppid'; it has time, cpu, task, probe", "a timer has no process of its own")
target.done()
tap.done_testing()
