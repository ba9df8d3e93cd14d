-- Raw tracepoints: what the kernel's code gives a tracepoint, and its structures by their types in BTF.
local machine = require "machine"
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like
local lines, expected = target.lines, target.expected

local path = target.folder() .. "-raw_tracepoint.lua"
local file = assert(io.open(path, "w"))
file:write [[
local up = require "uplua"
local renamed, switched, bad = up.hash(), up.count(), up.count()
up.raw_tracepoint("task_rename", function(e)
  local task, name = e.args.task, up.kstr(e.args.comm)
  if name == "traced" then return end -- by execve
  local same = up.cast("struct task_struct *", up.u64(task))
  renamed[name] = { task.comm, task.pid == e.tid, task.tgid == e.pid, task.group_leader.comm,
                    same.mm.owner.tgid == e.pid, e.nargs, task.real_parent.pid ~= e.pid, task.comm == e.comm,
                    up.str(task.comm) == e.comm, task.cred.uid.val == e.uid, task.signal.nr_threads > 1,
                    task.thread_pid.level >= 0, up.cast("pid_t", up.u64(task.tgid)) == e.pid }
end)
up.raw_tracepoint("sched:sched_switch", function(e)
  local p = e.args.prev
  switched:inc()
  if p.pid ~= e.tid or up.read_u32(up.u64(e.arg1)) == nil or (e.args.preempt ~= true and e.args.preempt ~= false) then
    bad:inc() end
end)
up.at_exit(function()
  for name, r in renamed:pairs() do
    local list = {}
    for i = 1, 13 do list[i] = tostring(r[i]) end
    print("rename", name, table.concat(list, " "))
  end
  print("switched", switched:get() > 0, bad:get())
end)
]]
file:close()

for _, case in ipairs { { 1, 23 }, { 4, 101 } } do
  local threads, count = case[1], case[2]
  local run = target.uplua(("%s -- ./build/targets/traced %d %d"):format(path, threads, count))
  local want = expected(threads, count, function(thread, i)
    local before = i == 0 and "traced" or thread .. "." .. i - 1
    return ("%d.%d\t%s true true traced true 2 true true true true true true true"):format(thread, i, before)
  end)
  local what = ("%d threads, %d times: "):format(threads, count)
  is(run.status, 0, what .. "the run")
  is(lines(run.out, "rename"), want, what .. "fields of the kernel's structures, through pointers")
  is(lines(run.out, "switched"), "true\t0", what .. "a pointer to the thread that leaves, a boolean")
  is(run.err, "", what .. "without a loss")
end

-- Stacks.
local run = target.uplua [[-e 'n = count()
  raw_tracepoint("task_rename", function(e) n[{ e:kstack(), e:ustack() }]:inc() end)
  at_exit(function()
    for k, count in n:pairs() do print("stack", count, k[1]:folded(), k[2]:folded()) end
  end)' -- ./build/targets/traced 1 23]]
like(run.out, "stack\t23\t[^\t]*" .. machine.enters ..
  ";[^\t]*_sys_prctl;[^\t]*__set_task_comm[^\t]*\t[^\t]*;work;[^\t\n]*prctl", "both stacks")

-- In a tracepoint's record pointers are numbers; a cast makes them the kernel's structures.
run = target.uplua [[-e 'n = count()
  tracepoint("sock:inet_sock_set_state", function(e)
    if e.args.newstate == 2 then n[cast("struct sock *", e.args.skaddr).__sk_common.skc_family]:inc() end
  end)' -- ./build/targets/traced 1 23]]
like(run.out, "n: 2  23\n", "a cast to a structure of the kernel's, whose fields lie in unions")

-- What the script declares goes before the kernel's.
run = target.uplua [[-e 'local ffi = require "ffi" ffi.cdef "struct task_struct { unsigned char first; };"
  n = count() raw_tracepoint("task_rename", function(e) n[cast("struct task_struct *", e.arg0).first ~= nil]:inc()
    end)' -- ./build/targets/traced 1 23]]
like(run.out, "n: true  24\n", "a declaration of the script's")

local function refused(code, want, what)
  if tap.fewer(false, true) then return end -- asks nothing of the kernel
  like(target.uplua(("-e 'n = count() %s' -- true"):format(code)).err, want, what)
end
refused('raw_tracepoint("sched_swich", function() end)',
        "%-e:1: raw_tracepoint sched_swich: the kernel has no such tracepoint; did you mean sched_switch%?",
          "a misspelt name")
refused('raw_tracepoint(1, function() end)',
  "%-e:1: raw_tracepoint: the first argument names the tracepoint: \"sched_switch\"", "a number")
refused('raw_tracepoint("sched_switch", { strings = 3 }, function() end)',
  "%-e:1: raw_tracepoint: unknown option 'strings'; it has all", "an option")
refused('raw_tracepoint("sched_switch", function(e) n[e.args.prv]:inc() end)',
        "%-e:1: raw_tracepoint sched_switch has no argument 'prv'; did you mean prev%?", "a misspelt argument")
refused('raw_tracepoint("sched_switch", function(e) n[e.args.prev.pidd]:inc() end)',
        "%-e:1: 'struct task_struct' has no field 'pidd'", "a field that the structure lacks")
refused('raw_tracepoint("sched_switch", function(e) n[cast("struct nothing *", e.arg1).x]:inc() end)',
        "%-e:1: up.cast%(\"struct nothing %*\"%): ", "a structure that nobody knows")
refused('raw_tracepoint("sched_switch", function(e) n[e.arg9]:inc() end)',
        "%-e:1: raw_tracepoint sched_switch has 4 arguments, which begin with e%.arg0", "a tenth argument")
refused('raw_tracepoint("sched_switch", function(e) n[e.args.prev.pid + e.args.prev]:inc() end)',
        "%-e:1: arithmetic or order comparison on a 'struct task_struct %*'; index it", "arithmetic on a pointer")
run = target.uplua [[--explain -e 'n = count()
  raw_tracepoint("sched_switch", function(e) n[e.args.prev.pid]:inc() end)']]
like(run.out, "raw_tracepoint sched_switch\n  at       the kernel's tracepoint sched_switch, without a record\n",
  "--explain")
os.remove(path)
target.done()
tap.done_testing()
