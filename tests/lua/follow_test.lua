-- --follow: what the target starts is traced from its first instruction on, in each kind of probe.
local tap = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like

local FAMILY = "./build/targets/family"
local CHILDREN, HITS = 23, 101
local ALL = CHILDREN * 2 * HITS + CHILDREN -- with main's own

local function uprobes(report)
  return ([['
    local up = require "uplua"
    local hits, forked, calls, returns = up.count(), up.count(), up.count(), up.count()
    up.uprobe("%s:hit", function(e) hits[e.pid]:inc() end)
    up.uprobe("%s:forked", function(e) forked:inc() end)
    up.uretprobe("%s:hit", function(e) if e.arg0 == 22 then returns:inc() end end)
    up.syscall("getppid", function(e) if e.comm == "family" or e.comm == "exe" then calls:inc() end
      end) -- a shell makes one, too
    local function show()
      local pids, total, whole = 0, 0, 0
      for _, n in hits:pairs() do
        pids, total = pids + 1, total + n
        if n == 101 then whole = whole + 1 end
      end
      print("seen", total, pids, whole, forked:get(), calls:get(), returns:get())
    end
    %s']]):format(FAMILY, FAMILY, FAMILY, report or "up.at_exit(show)")
end

local function seen(run) return run.out:match "seen\t([^\n]*)" end

local ARMED = 'up.after(0, function() io.stderr:write "tracing\\n" end) up.at_exit(show)'
local EVERYBODY = ("%d\t%d\t%d\t%d\t%d\t%d"):format(ALL, 2 * CHILDREN + 1, 2 * CHILDREN, CHILDREN, ALL,
  2 * CHILDREN + 1)

local run = target.uplua("--follow -e " .. uprobes() .. " -- " .. FAMILY)
is(seen(run), EVERYBODY, "23 children, which execute a program, and their children: each of their calls")
is(run.err, "", "nothing was lost")
is(run.status, 0, "the command's status")

is(seen(target.uplua("-e " .. uprobes() .. " -- " .. FAMILY)), "23\t1\t0\t0\t23\t1",
  "without --follow only the command's own")
is(seen(target.uplua("--follow -e " .. uprobes() .. " -- " .. FAMILY .. " thread")), "101\t1\t1\t0\t101\t1",
  "a child that another thread starts")

run = target.uplua("--follow -e " .. uprobes() .. (" -- sh -c '%s & exit 7'"):format(FAMILY))
is(seen(run), EVERYBODY, "the run goes on until the last that was started has exited")
is(run.status, 7, "and its status is that of the command")

run = target.attached(FAMILY .. " stay", "--follow -e " .. uprobes(ARMED))
is(seen(run), EVERYBODY, "those that a running process starts")
run = target.attached(FAMILY .. " early", "--follow -e " .. uprobes(ARMED), true)
is(seen(run), "202\t2\t2\t0\t202\t2", "a child that was there already, and its own")
is(run.status, 0, "the run ends when the last has exited")

-- The list of those who are traced: what has exited goes, once the kernel has forgotten it.
run = target.shell(([[
  set -m
  mkfifo "$D/in"
  %s stay <"$D/in" >"$D/target" &
  program=$!
  exec 7>"$D/in"
  until_said ready
  ./uplua --duration 100 --follow -e %s -- $program >"$D/out" 2>"$D/err" 7>&- </dev/null &
  uplua=$!
  until_traces
  printf x >&7
  wait $uplua]]):format(FAMILY, uprobes [[
  local follow, pid = require "uplua.target.follow", require "uplua.core".target.pids()[1]
  up.after(0, function() io.stderr:write "tracing\n" end)
  up.every("20ms", function()
    if forked:get() < 23 then return end -- asked first: a list from before has none of them
    local list = follow.pids()
    if #list == 1 then
      print("left", list[1] == pid)
      up.exit()
    end
  end)
  up.at_exit(show)]]))
like(run.out, "left\ttrue\n", "children that are gone are removed from the kernel's list")
is(seen(run), EVERYBODY, "… once all that they did was seen")
is(run.err, "tracing\n", "… and nothing was lost")

run = target.uplua([[--follow -e 's = count() uprobe("]] .. FAMILY .. [[:hit", function(e) s[e:ustack()]:inc() end)
  at_exit(function() for stack, n in s:pairs() do print("stack", stack:folded(), n) end end)' -- ]] .. FAMILY)
local stacks, whole = 0, 0
for folded, n in run.out:gmatch "stack\t(%S+)\t(%d+)" do
  stacks = stacks + 1
  if tonumber(n) == CHILDREN * HITS and folded:find ";main;child;hits;hit$" then whole = whole + 1 end
end
is(stacks, 3, "equal code is one stack in all processes: main's own hits, and those of children of two kinds")
is(whole, 2, "which has names, of processes that are gone by now")
is(run.err, "", "and are complete")

-- A process that has few stacks and is soon over costs few calls of the kernel, which are its share of uplua's own
-- time.
local PROGRAMS, MOST = 100, 20
run = target.uplua([[--follow -e 'calls = count() syscall("bpf", function() calls:inc() end)
  at_exit(function() print("calls", calls:get()) calls:clear() end)' -- ./uplua --follow -e 's = count()
  syscall({ "openat", "mmap" }, function(e) s[e:ustack()]:inc() end)
  at_exit(function() local n = 0 for _, count in s:pairs() do n = n + count end print("stacks", n) s:clear() end)' -- \
  sh -c 'for i in $(seq ]] .. PROGRAMS .. [[); do /bin/true; done']])
local taken, calls = tonumber(run.out:match "stacks\t(%d+)"), tonumber(run.out:match "calls\t(%d+)")
ok(taken and taken >= 5 * PROGRAMS, "programs that are soon over have stacks: " .. run.out .. run.err)
ok(calls and calls < MOST * PROGRAMS, "… and uplua asks the kernel for little in between")

like(target.uplua("--follow --explain -e " .. uprobes() .. " -- true").out, "maps     followed",
  "--explain shows the look-up")

local function refused(arguments, want, what, status)
  run = target.uplua(arguments)
  like(run.err, want, what)
  is(run.status, status, "… with its status")
end
refused("--follow -e 'uprobe(\"libc:malloc\", function() end)'", "%-%-follow needs a target: PIDs or a command",
  "--follow without a target", 2)
refused("--follow --tid 1 -e 'print(1)'", "%-%-follow is for processes, not for threads", "--follow of a thread", 2)
refused("--follow -e 'watch(0x1000, { \"w\", size = 8 }, function() end)' -- true",
        "watch: an address is one process's, and means nothing in those that %-%-follow adds",
          "a watchpoint with --follow", 1)

target.done()
tap.done_testing()
