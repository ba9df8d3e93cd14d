-- Each kind of probe under each way to say who is traced: its hits by those and by nobody else, while another process
-- does the same.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local PROGRAM, TIMES, THREADS = "build/targets/probe_kinds", 101, 4
local SUM = TIMES * (TIMES + 1) / 2

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end
local KPROBES = exists "/sys/bus/event_source/devices/kprobe/type"

-- Prints "KIND hits processes threads sum-of-I" for each kind, and how many samples there were by threads that hit
-- nothing else.
local path = target.folder() .. "-narrowed.lua"
local file = assert(io.open(path, "w"))
file:write("local HERTZ = ", target.hertz(499), [[

local up = require "uplua"
local sets = {}
for word in arg[1]:gmatch "[^,]+" do sets[word] = true end
local hits, sums, samples = up.count { max = 65536 }, up.sum { max = 65536 }, up.count { max = 65536 }
local PROGRAM, FIRST = "./build/targets/probe_kinds", 0x230000000000
local function seen(e, kind, i)
  hits[{ kind, e.pid, e.tid }]:inc()
  sums[kind]:add(i)
end
if sets.calls then
  up.uprobe(PROGRAM .. ":deed", function(e) seen(e, "uprobe", e.arg0) end)
  up.uretprobe(PROGRAM .. ":deed", function(e) seen(e, "uretprobe", e.ret - e.arg1) end)
  up.usdt(PROGRAM .. ":app:deed", function(e) seen(e, "usdt", e.arg0) end)
  up.usdt(PROGRAM .. ":app:guarded", function(e) seen(e, "semaphore", e.arg0) end)
  up.tracepoint("signal:signal_generate", function(e) if e.args.sig == 23 then seen(e, "tracepoint", 0) end end)
  up.raw_tracepoint("signal_generate", function(e) if e.args.sig == 23 then seen(e, "raw_tracepoint", 0) end end)
  up.tracepoint("syscalls:sys_enter_lseek", function(e)
    if e.args.whence == 7 then seen(e, "call's tracepoint", e.args.offset) end end)
  up.syscall("lseek", function(e) if e.args.whence == 7 then seen(e, "syscall", e.args.offset) end end)
  up.sysreturn("lseek", function(e) if e.args.whence == 7 and e.ret == -9 then
    seen(e, "sysreturn", e.args.offset) end end)
end
if sets.kernel then
  up.kprobe("ksys_lseek", function(e) if e.arg2 == 7 then seen(e, "kprobe", e.arg1) end end)
  up.kprobe("ksys_lsee[k]", function(e) if e.arg2 == 7 then seen(e, "kprobe of a pattern", e.arg1) end end)
  up.kretprobe("ksys_lseek", function(e) if e.arg2 == 7 and e.ret == -9 then seen(e, "kretprobe", e.arg1) end end)
  up.fentry("ksys_lseek", function(e) if e.arg2 == 7 then seen(e, "fentry", e.arg1) end end)
  up.fexit("ksys_lseek", function(e) if e.args.whence == 7 and e.ret == -9 then seen(e, "fexit", e.args.offset) end end)
end
if sets.events then
  up.perf("page-faults", 1, function(e)
    if e.addr >= FIRST and e.addr < FIRST + 409 * 4096 then seen(e, "perf", (e.addr - FIRST) / 4096) end
  end)
  up.profile(HERTZ, function(e) samples[{ e.pid, e.tid }]:inc() end)
end
if sets.watch then up.watch(PROGRAM .. ":watched", { "w", size = 8 }, function(e) seen(e, "watch", 0) end) end
up.after(0, function() io.stderr:write "tracing\n" end)
up.at_exit(function()
  local kinds, known = {}, {}
  for k, n in hits:pairs() do
    local kind = kinds[k[1] ] or { hits = 0, pids = {}, processes = 0, threads = 0 }
    kinds[k[1] ] = kind
    kind.hits, kind.threads, known[k[2] ], known[-k[3] ] = kind.hits + n, kind.threads + 1, true, true
    if not kind.pids[k[2] ] then kind.processes = kind.processes + 1 end
    kind.pids[k[2] ] = true
  end
  for name, kind in pairs(kinds) do print("seen", name, kind.hits, kind.processes, kind.threads, sums[name]) end
  local all, others = 0, 0
  for k, n in samples:pairs() do
    all = all + n
    if not known[k[1] ] or (sets.threads and not known[-k[2] ]) then others = others + n end
  end
  if sets.events then print("samples", all > 0, others) end
end)
]])
file:close()

-- Runs uplua OPTIONS, with the probes SETS, beside the program ($program), behind FIRST, a command of the shell, and
-- another that does the same ($stranger).
local function beside(sets, options, first)
  return target.shell(([[
    set -m
    mkfifo "$D/in" "$D/other-in"
    NAME=d$$
    (%s exec %s $NAME wait) <"$D/in" >"$D/target" & program=$!
    exec 7>"$D/in"
    %s $NAME wait <"$D/other-in" >"$D/other" 7>&- & stranger=$!
    exec 8>"$D/other-in"
    for file in target other; do await 'grep -q ready "$D/$file"' $program $stranger; done
    threads=($(ls /proc/$program/task | sort -n))
    ./uplua %s >"$D/out" 2>"$D/err" 7>&- 8>&- </dev/null & uplua=$!
    until_traces
    printf x >&7
    printf x >&8
    for file in target other; do await 'grep -q done "$D/$file"' $program $stranger; done
    kill -INT $uplua
    wait $uplua
    status=$?
    exec 7>&- 8>&-
    wait
    exit $status]]):format(first and first .. ";" or "", PROGRAM, PROGRAM,
                           (options:gsub("SCRIPT", function() return path .. " " .. sets end))))
end

-- The kinds of SETS that tell I, and those that do not.
local KINDS = {
  calls = { true, "uprobe", "uretprobe", "usdt", "semaphore", "call's tracepoint", "syscall", "sysreturn", false,
    "tracepoint", "raw_tracepoint" },
  kernel = { true, "kprobe", "kprobe of a pattern", "kretprobe", "fentry", "fexit" },
  watch = { false, "watch" },
}

local function check(run, sets, processes, threads, what)
  local hits = threads * TIMES
  is(run.err, "tracing\n", what .. ": nothing is lost")
  is(run.status, 0, what .. ": the run")
  for set, kinds in pairs(KINDS) do
    local tells
    for _, kind in ipairs(sets:find(set) and kinds or {}) do
      if type(kind) == "boolean" then
        tells = kind
      else
        is(run.out:match("seen\t" .. kind .. "\t([^\n]*)"),
          ("%d\t%d\t%d\t%d"):format(hits, processes, threads, tells and threads * SUM or 0), what .. ": " .. kind)
      end
    end
  end
  if sets:find "events" then
    like(run.out, ("seen\tperf\t%d\t%d\t%d\t"):format(hits, processes, threads), what .. ": perf")
    is(run.out:match "samples\t([^\n]*)", "true\t0", what .. ": samples of nobody else")
  end
end

local ALL = "calls,events" .. (KPROBES and ",kernel" or "")
local WATCHED = ALL .. (target.watches() and ",watch" or "")

-- On a machine that is emulated a run of these takes half a minute: there the ways that are one test each are left out,
-- and the ways together stay.
local few = tap.fewer(false, true)

if not few then check(beside(WATCHED, "SCRIPT -- $program"), WATCHED, 1, THREADS, "a process") end
if not few then check(beside(ALL, "--follow SCRIPT -- $program"), ALL, 2, 2 * THREADS, "--follow") end
check(beside(WATCHED .. ",threads", "--tid ${threads[1]},${threads[4]} SCRIPT"), WATCHED, 1, 2, "--tid")
if not few then check(beside(ALL .. ",threads", "--comm $NAME-2 SCRIPT"), ALL, 4, 4, "--comm") end
if not few then check(beside(ALL, "--comm \"$NAME-*\" SCRIPT"), ALL, 4, 16, "--comm of all names that begin so") end
if not few then
  check(beside(WATCHED .. ",threads", "--comm $NAME-2 SCRIPT -- $program"), WATCHED, 1, 1, "--comm and a process")
end
check(beside(ALL .. ",threads", "--follow --comm $NAME-2 --comm $NAME-3 SCRIPT -- $program"), ALL, 2, 4,
  "--follow and --comm")

-- A cgroup, where one can be made: what the processes in it do, by whomever they were started.
local cgroup = not few and target.cgroup()
if cgroup then
  local enter = ("echo $BASHPID >%s/cgroup.procs"):format(cgroup)
  check(beside(ALL, ("--cgroup %s SCRIPT"):format(cgroup), enter), ALL, 2, 2 * THREADS, "--cgroup")
  check(beside(ALL .. ",threads", ("--cgroup %s --comm $NAME-1 SCRIPT"):format(cgroup), enter), ALL, 2, 2,
    "--cgroup and --comm")
  target.shell(("rmdir %s"):format(cgroup))
end

-- --cpu: what a program does that runs on CPU 0 alone. It needs taskset.
if not few and os.execute "command -v taskset >/dev/null" == 0 then
  local PINNED = "taskset -pc 0 $BASHPID >/dev/null"
  check(beside(ALL, "--cpu 0 SCRIPT -- $program", PINNED), ALL, 1, THREADS, "--cpu")
  check(beside(ALL, "--cpu 0 --follow SCRIPT -- $program", PINNED), ALL, 2, 2 * THREADS, "--cpu and --follow")
  check(beside(ALL .. ",threads", "--cpu 0 --tid ${threads[2]} SCRIPT", PINNED), ALL, 1, 1, "--cpu and --tid")
  check(beside(ALL .. ",threads", "--cpu 0 --follow --comm $NAME-3 SCRIPT -- $program", PINNED), ALL, 2, 2,
    "--cpu, --follow and --comm")
  if exists "/sys/devices/system/cpu/cpu1/topology/core_id" then
    local run = beside("events", "--cpu 1 --follow SCRIPT -- $program", PINNED)
    is(run.out .. run.err, "samples\tfalse\t0\nsums: (empty)\ntracing\n", "--cpu: another one")
  end
end

os.remove(path)
target.done()
tap.done_testing()
