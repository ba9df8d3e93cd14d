-- Tracepoints: every hit of a program that knows how many it makes, and the fields of its records as they were written.
local machine = require "machine"
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like
local lines, expected = target.lines, target.expected

-- What the handlers see of build/targets/traced THREADS COUNT: its own lines, in order.
local path = target.folder() .. "-tracepoint.lua"
local file = assert(io.open(path, "w"))
file:write [[
local up = require "uplua"
local LSEEK = tonumber(arg[1])
local renamed, queued, sought, connects, exits, looped = up.hash(), up.hash(),
    up.hash(), up.hash(), up.hash(), up.count()
local total = up.count()
local function done(kind) total[kind]:inc() end
up.tracepoint("task:task_rename", function(e)
  if e.args.pid ~= e.tid then up.exit(3) end
  if e.args.newcomm == "traced" then return end -- by execve
  renamed[e.args.newcomm] = { old = e.args.oldcomm, score = e.args.oom_score_adj, len = #e.args.newcomm }
  done "rename"
end)
up.tracepoint("signal:signal_generate", function(e)
  if e.args.sig ~= 10 then return end
  queued[{ e.tid, e.args.code }] = { e.args.comm, e.args.errno, e.args.pid == e.tid, e.args.group, e.args.result }
  done "signal"
end)
up.tracepoint("syscalls:sys_enter_lseek", function(e)
  if e.args.fd >= 0xfffffff0 then
    sought[{ e.tid, e.args.offset }] = { up.i32(e.args.fd), e.args.whence, e.args.__syscall_nr, e.args.fd > 0 }
    done "seek"
  end
end)
up.tracepoint("syscalls:sys_exit_lseek", function(e)
  if e.args.ret == -9 then done "refused" end
end)
up.tracepoint("sock:inet_sock_set_state", function(e)
  if e.args.oldstate ~= 7 or e.args.newstate ~= 2 then return end
  local to, sum = e.args.daddr, 0
  for i = 0, 3 do sum = sum * 256 + to[i] end
  connects[sum] = { e.args.dport, e.args.family, e.args.protocol, to[1],
      to[2] == e.args.dport - 1000, e.args.daddr_v6[10] }
  done "connect"
end)
up.tracepoint("raw_syscalls:sys_enter", function(e)
  if e.args.id ~= LSEEK or up.i32(e.args.args[0]) >= 0 then return end
  local sum, index = 0, e.args.args[2] + 4
  for i = 0, 5 do sum = sum + (i < 3 and e.args.args[i] or 0) end
  exits[{ e.tid, -e.args.args[1] }] = { sum == e.args.args[0] + e.args.args[1] + 7, e.args.args[index] == nil }
  done "raw"
end)
up.tracepoint("sched:sched_process_exec", { strings = 4 }, function(e) done(e.args.filename) end)
up.at_exit(function()
  for kind, n in total:pairs() do print("total", kind, n) end
  for name, r in renamed:pairs() do print("rename", name, r.old, r.score, r.len) end
  for k, r in queued:pairs() do print("signal", k[2], r[1], r[2], tostring(r[3]), r[4], r[5]) end
  for k, r in sought:pairs() do print("seek", k[2], r[1], r[2], r[3], tostring(r[4])) end
  for k, r in connects:pairs() do print("connect", ("%08x"):format(k), r[1], r[2], r[3], r[4], tostring(r[5]), r[6]) end
  for k, r in exits:pairs() do print("raw", k[2], tostring(r[1]), tostring(r[2])) end
end)
]]
file:close()

for _, case in ipairs { { 1, 23 }, { 4, 101 } } do
  local threads, count = case[1], case[2]
  local hits = threads * count
  local run = target.uplua(("%s %d -- ./build/targets/traced %d %d"):format(path, machine.call.lseek, threads, count))
  local what = ("%d threads, %d times: "):format(threads, count)
  is(run.status, 0, what .. "the run")
  is(lines(run.out, "total"),
     ("/us…\t1\nconnect\t%d\nraw\t%d\nrefused\t%d\nrename\t%d\nseek\t%d\nsignal\t%d"):format(hits, hits, hits, hits,
       hits, hits)
       :gsub("^/us…", "./b…"), what .. "every hit is seen")
  is(lines(run.out, "rename"), expected(threads, count, function(thread, i)
    local name = thread .. "." .. i
    return ("%s\t%s\t0\t%d"):format(name, i == 0 and "traced" or thread .. "." .. i - 1, #name)
  end), what .. "arrays of characters and a short")
  is(lines(run.out, "signal"), expected(threads, count, function(thread, i)
    return ("%d\t%d.%d\t0\ttrue\t0\t1"):format(-1 - i, thread, i)
  end), what .. "negative ints, and the thread's name as it is by then")
  is(lines(run.out, "seek"), expected(threads, count, function(thread, i)
    return ("%d\t%d\t7\t%d\ttrue"):format(-i, -1 - thread, machine.call.lseek)
  end), what .. "a system call's arguments: unsigned int, off_t")
  is(lines(run.out, "connect"), expected(threads, count, function(thread, i)
    return ("7f%02x%02x09\t%d\t2\t6\t%d\ttrue\t255"):format(thread, i, 1000 + i, thread)
  end), what .. "unsigned shorts, and bytes of an array by constant and computed index")
  is(lines(run.out, "raw"), expected(threads, count, function(_, i) return ("%d\ttrue\ttrue"):format(i) end),
     what .. "an array of longs, and nil beyond its end")
  is((run.err:gsub("/%S*lua:", "")),
     ("uplua: not everything was seen:\n  %d × an index outside of 'uint64_t [6]' read as nil, 39\n"
       .. "  1 × a key of 'total' was cut: keys that begin with the same text are one, 6\n"):format(hits),
       what .. "nothing is lost but what is asked for beyond the array's end, and the file's name, cut to 4 bytes")
end

-- A pattern: what all of its records have, and the name of the one that was hit.
local all = target.uplua [[-e 'n = count()
  tracepoint("task:task_r*", function(e) n[{ e.probe, e.args.comm }]:inc() end)' -- true]]
like(all.err, "%-e:2: tracepoint task:task_rename has no field 'comm'; did you mean oldcomm",
  "a field that one of a pattern lacks")
all = target.uplua [[-e 'n = count()
  tracepoint("s*:si[fg]*", function(e) if e.args.sig == 10 then n[e.probe]:inc() end end)
  ' -- ./build/targets/traced 4 101]]
like(all.out, "n: signal:signal_generate  404\n", "a pattern")
is(all.err, "", "… without a loss")

-- Stacks: the kernel's down to the system call, and the program's.
local run = target.uplua [[-e 'n = count()
  tracepoint("task:task_rename", function(e) n[{ e:kstack(), e:ustack() }]:inc() end)
  at_exit(function()
    for k, count in n:pairs() do print("stack", count, k[1]:folded(), k[2]:folded()) end
  end)' -- ./build/targets/traced 1 23]]
like(run.out, "stack\t23\t[^\t]*" .. machine.enters ..
  ";[^\t]*_sys_prctl;[^\t]*__set_task_comm[^\t]*\t[^\t]*;work;[^\t\n]*prctl", "both stacks")

-- A handler that counts rounds also where the kernel has no may_goto.
run = target.shell [[UPLUA_WITHOUT=may_goto ./uplua -e 'n = count()
  tracepoint("sock:inet_sock_set_state", function(e)
    if e.args.newstate ~= 2 then return end
    local i, sum = 0, 0
    while i < 4 do sum = sum + e.args.daddr[i] i = i + 1 end
    n[sum]:inc()
  end)' -- ./build/targets/traced 1 23 >"$D/out" 2>"$D/err"]]
local sums = {}
for sum, count in run.out:gmatch "(%d+) +(%d+)\n?" do sums[#sums + 1] = sum .. "=" .. count end
table.sort(sums)
is(table.concat(sums, " "), expected(1, 23, function(_, i) return (127 + 9 + i) .. "=1" end):gsub("\n", " "),
   "an array in a loop of the older kind")
is(run.err, "", "… without a loss")

local function refused(code, want, what)
  if tap.fewer(false, true) then return end -- asks nothing of the kernel
  like(target.uplua(("-e 'n = count() %s' -- true"):format(code)).err, want, what)
end
refused('tracepoint("sched:sched_swich", function() end)',
        "%-e:1: tracepoint sched:sched_swich: the kernel has no such tracepoint; did you mean sched_switch%?",
          "a misspelt name")
refused('tracepoint("sced:sched_switch", function() end)',
        "%-e:1: tracepoint sced:sched_switch: the kernel has no tracepoints of a system 'sced'; did you mean sched%?",
          "a misspelt system")
refused('tracepoint("sched_switch", function() end)',
        "%-e:1: tracepoint sched_switch: a tracepoint is named with its system: sched:sched_switch", "no system")
refused('tracepoint("irq:sched_switch", function() end)',
        "%-e:1: tracepoint irq:sched_switch: the kernel has no such tracepoint; did you mean sched:sched_switch%?",
          "another system")
refused('tracepoint("nothing", function() end)',
  "%-e:1: tracepoint nothing: a tracepoint is SYSTEM:NAME, as in sched:sched_switch", "a word")
refused('tracepoint("sched:zz*", function() end)',
  "%-e:1: tracepoint sched:zz%*: the kernel has no tracepoint that matches", "an empty pattern")
refused('tracepoint("syscalls:*", function() end)',
  "%-e:1: tracepoint syscalls:%*: it matches %d+ tracepoints, and each takes", "a large one")
refused('tracepoint(7, function() end)',
  "%-e:1: tracepoint: the first argument names the tracepoint: \"sched:sched_switch\"", "a number")
refused('tracepoint("../x:y", function() end)', "a tracepoint is SYSTEM:NAME", "a path")
refused('tracepoint("sched:sched_switch", { filtr = 1 }, function() end)', "%-e:1: tracepoint: unknown option 'filtr'",
  "an unknown option")
refused('tracepoint("sched:sched_switch", { strings = 3.5 }, function() end)',
        "%-e:1: tracepoint: option 'strings': 3.5 is not a whole number from 1 to 4096", "half a byte")
refused('tracepoint("sched:sched_switch", function(e) n[e.args.prev_pdi]:inc() end)',
        "%-e:1: tracepoint sched:sched_switch has no field 'prev_pdi'; did you mean prev_pid", "a misspelt field")
refused('tracepoint("sched:sched_switch", function(e) n[e.args.xyz]:inc() end)',
        "%-e:1: tracepoint sched:sched_switch has no field 'xyz'; it has prev_comm, prev_pid, ", "an unknown field")
refused('tracepoint("sched:sched_switch", function(e) n[e.args.common_pid]:inc() end)',
        "%-e:1: the field 'common_pid' of sched:sched_switch cannot be read in a handler: .*; it is e.tid",
          "what programs cannot see")
refused('tracepoint("sched:sched_switch", function(e) n[e.args[1]]:inc() end)', "%-e:1: e.args has names",
  "a number for a name")
refused('tracepoint("sched:sched_switch", function(e) n[e.args]:inc() end)',
        "%-e:1: the event's arguments cannot be stored as a key", "all of them as one")
refused('tracepoint("sched:sched_switch", function(e) e.args.prev_pid = 1 end)',
  "%-e:1: the event's fields cannot be assigned to", "writing")
refused('tracepoint("sched:sched_switch", function(e) n[e.arg0]:inc() end)',
        "%-e:1: the event of a tracepoint has no field 'arg0'; it has time, .*, e.args, e:stack%(%), " ..
        "e:ustack%(%) and e:kstack%(%)", "a number for a field")
refused('tracepoint("raw_syscalls:sys_enter", function(e) n[e.args.args[6]]:inc() end)',
        "%-e:1: the index 6 is outside of 'uint64_t %[6%]'", "a constant index beyond an array's end")
if target.uplua("--list 'tracepoint:ipi:ipi_send_cpumask'").status == 0 then -- Linux 6.4
  refused('tracepoint("ipi:ipi_send_cpumask", function(e) n[e.args.cpumask]:inc() end)',
          "%-e:1: the field 'cpumask' of ipi:ipi_send_cpumask cannot be read in a handler: " ..
          "it is a '__data_loc cpumask_t', of a length",
          "an array of any length")
end
run = target.uplua [[--explain -e 'n = count()
  tracepoint("sched:sched_switch", function(e) n[e.args.prev_pid]:inc() end)']]
like(run.out, "tracepoint sched:sched_switch\n  at       the kernel's tracepoint sched:sched_switch, number %d+\n",
  "--explain")
run = target.shell [[before=$(cat /proc/mounts) ; ./uplua -e 'tracepoint("sched:sched_switch", function() end)' -- true
  [ "$before" = "$(cat /proc/mounts)" ]; echo $? >"$D/out"]]
is(run.out, "0\n", "no mount is left behind")
os.remove(path)
target.done()
tap.done_testing()
