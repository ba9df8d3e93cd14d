-- System calls: every call of a program that knows how many it makes, its arguments, results and times.
local machine = require "machine"
local tap = require "tap"
local target = require "target"
local ok, is, like = tap.ok, tap.is, tap.like
local lines, expected = target.lines, target.expected

local path = target.folder() .. "-syscall.lua"
local file = assert(io.open(path, "w"))
file:write [[
local up = require "uplua"
local total, entries, returns, every, numbers, errors = up.count(), up.hash(),
    up.hash(), up.stats(), up.count(), up.count()
up.syscall("lseek", function(e)
  entries[{ e.tid, e.args.offset }] = { e.func, e.nr, up.i32(e.args.fd), e.arg2, e.nargs, e.probe }
  total["entry"]:inc()
end)
up.sysreturn("lseek", function(e)
  returns[{ e.tid, e.args.offset }] = { e.func, up.i32(e.args.fd), e.ret, e.args.whence,
      e.elapsed > 0 and e.elapsed < 10000000000 }
  total["return"]:inc()
end)
up.sysreturn({ "conn*", "rt_tgsigqueueinfo" }, function(e)
  total[e.func]:inc()
  errors[{ e.nr, e.ret }]:inc()
end)
up.syscall("*", function(e) numbers[{ e.nr, e.arg0 == -1 }]:inc() end)
up.sysreturn("*", function(e) every[e.nr]:add(e.elapsed) end)
up.at_exit(function()
  for k, n in total:pairs() do print("total", k, n) end
  for k, r in entries:pairs() do print("entry", k[2], r[1], r[2], r[3], r[4], r[5], r[6]) end
  for k, r in returns:pairs() do print("return", k[2], r[1], r[2], r[3], r[4], tostring(r[5])) end
  for k, s in every:pairs() do print("all", up.syscall_name(k), s.count, s.min > 0) end
  for k, n in errors:pairs() do print("error", up.syscall_name(k[1]), k[2], n) end
  print("number", numbers[{ up.syscall_number "lseek", false }], up.syscall_name(up.syscall_number "openat"),
        up.syscall_name(100000), tostring(up.syscall_number "nothing"))
end)
]]
file:close()

for _, case in ipairs { { 1, 23 }, { 4, 101 } } do
  local threads, count = case[1], case[2]
  local hits = threads * count
  local run = target.uplua(("%s -- ./build/targets/traced %d %d"):format(path, threads, count))
  local what = ("%d threads, %d times: "):format(threads, count)
  is(run.status, 0, what .. "the run")
  is(lines(run.out, "total"),
    ("connect\t%d\nentry\t%d\nreturn\t%d\nrt_tgsigqueueinfo\t%d"):format(hits, hits, hits, hits), what .. "every call")
  is(lines(run.out, "entry"), expected(threads, count, function(thread, i)
    return ("%d\tlseek\t%d\t%d\t7\t3\tlseek"):format(-i, machine.call.lseek, -1 - thread)
  end), what .. "its arguments, by name and by number")
  is(lines(run.out, "return"), expected(threads, count, function(thread, i)
    return ("%d\tlseek\t%d\t-9\t7\ttrue"):format(-i, -1 - thread)
  end), what .. "its result, with the arguments of the entry")
  is(lines(run.out, "error"), ("connect\t-111\t%d\nrt_tgsigqueueinfo\t0\t%d"):format(hits, hits),
    what .. "results of a list and a pattern")
  local all = "\n" .. lines(run.out, "all") .. "\n"
  for _, name in ipairs { "lseek", "connect", "socket", "rt_tgsigqueueinfo", "gettid" } do
    like(all, ("\n%s\t%d\ttrue\n"):format(name, hits), what .. "of all calls " .. name)
  end
  like(all, "\nclone3?\t" .. threads .. "\ttrue\n", what .. "a call that returns in two threads is one")
  is(all:match "exit", nil, what .. "what does not return")
  -- -1, the first thread's descriptor, is a negative register there
  local plain = jit.arch == "x64" and hits or hits - count
  is(lines(run.out, "number"), ("%d\topenat\tsyscall 100000\tnil"):format(plain), what .. "numbers and names")
  is(run.err, "", what .. "without a loss")
end

-- A call that began before it was traced, and one that does not return: neither is a loss.
local run = target.shell(([[
  mkfifo "$D/in"
  sh -c 'read -r line; echo $line; : >/dev/null' <"$D/in" >"$D/target" &
  program=$!
  exec 7>"$D/in"
  await 'grep -q pipe /proc/$program/wchan' $program # it is in the call
  timeout 20 ./uplua -e 'calls = count() sysreturn("*", function(e) calls[e.nr]:inc() end)
    after("10ms", function() io.stderr:write "tracing\n" end)
    at_exit(function() print("read", calls[%d], "openat", calls[%d], "exit_group", calls[%d])
      calls:clear() end)' -- $program \
    >"$D/out" 2>"$D/err" 7>&- &
  uplua=$!
  until_traces_or_ends
  echo x >&7
  exec 7>&-
  wait $uplua
]]):format(machine.call.read, machine.call.openat, machine.call.exit_group))
like(run.out, "^read\t1\topenat\t1\texit_group\t0\n", "a call that began before it was traced is none of ours")
is(run.err, "tracing\n", "… and no loss")

-- Calls by the 32-bit interface have numbers of their own: they are none of those that have these numbers here, and a
-- loss.
if target.shell("./build/targets/interfaces").status == 0 then
  run = target.uplua [[-e 'entries, returns = count(), count()
    syscall("*", function(e) entries[e.nr]:inc() end) sysreturn("*", function(e) returns[e.nr]:inc() end)
    at_exit(function()
      for _, name in ipairs { "getppid", "getpid", "writev" } do
        print(name, entries[syscall_number(name)], returns[syscall_number(name)]) end
      entries:clear() returns:clear()
    end)' -- ./build/targets/interfaces]]
  is(run.out, "getppid\t23\t23\ngetpid\t1\t1\nwritev\t0\t0\n",
    "calls by the 32-bit interface are no others of the same number")
  is(run.err, "uplua: not everything was seen:\n  202 × *: call of a 32-bit program: not seen\n",
    "… but counted, once by each probe")
  run = target.uplua [[-e 'n = count() sysreturn({ "getppid", "writev" }, function(e) n[e.func]:inc() end)
    at_exit(function() print(n.getppid, n.writev) n:clear() end)' -- ./build/targets/interfaces]]
  is(run.out, "23\t0\n", "a call by its name is none of the other interface")
  local told = "uplua: not everything was seen:\n  101 × system calls by name: made by the 32-bit interface, " ..
    "which may be one of them: not seen\n"
  is(run.err, told, "… which is told, once for both names")
  run = target.uplua [[-e 'n = count() syscall("getppid", function(e) n:inc() end)
    at_exit(function() print(n) n:clear() end)' -- ./build/targets/interfaces]]
  is(run.out .. run.err, "23\n" .. told, "… also at the entry")
end

-- Calls that the kernel's tracepoints call otherwise.
run = target.uplua [[-e 'n = count() sysreturn("newuname", function(e) n[{ e.func, e.nr }]:inc() end)
  at_exit(function() for k, v in n:pairs() do print(k[1], up.syscall_name(k[2]), v) end end)' -- uname -s]]
is(run.out, "Linux\nuname\tuname\t1\n", "a call is counted by its name, whatever the kernel calls it")
like(target.uplua("--list 'syscall:u*name'").out, "^syscall:uname\n$", "which is the one that is listed")

local function refused(code, want, what)
  if tap.fewer(false, true) then return end -- asks nothing of the kernel
  like(target.uplua(("-e 'n = count() %s' -- true"):format(code)).err, want, what)
end
refused('syscall("opanat", function() end)',
  "%-e:1: syscall opanat: the kernel has no such system call; did you mean openat or openat2%?\n", "a misspelt call")
like(target.uplua [[-e 'syscall("nosuch", function(e) end)']].err,
  "%-e:1: syscall nosuch: the kernel has no such system call\n", "a name that is near none")
like(target.uplua [[-e 'tracepoint("syscalls:sys_enter_opnat", function(e) end)']].err,
  "the kernel has no such tracepoint; did you mean sys_enter_openat%?\n", "as a tracepoint")
refused('sysreturn("zzzzzzzz", function() end)', "%-e:1: sysreturn zzzzzzzz: the kernel has no such system call\n",
  "an unknown one")
refused('syscall("zzzz*", function() end)', "%-e:1: syscall zzzz%*: the kernel has no such system call",
  "a pattern that matches none")
refused('syscall("*e*", function() end)',
  "%-e:1: syscall %*e%*: it matches %d+ system calls, and each .*; \"%*\" is one for all", "too many")
refused('syscall(3, function() end)', "%-e:1: syscall: the first argument names the system call", "a number")
refused('syscall("lseek", { x = 1 }, function() end)', "%-e:1: syscall: unknown option 'x'", "an option")
refused('syscall("uname", function(e) n[e.args.nam]:inc() end)',
  "%-e:1: syscall uname has no argument 'nam'; did you mean name%?", "one of a call that the kernel calls otherwise")
refused('syscall("lseek", function(e) n[e.args.offst]:inc() end)',
  "%-e:1: syscall lseek has no argument 'offst'; did you mean offset%?", "a misspelt argument")
refused('syscall("lseek", function(e) n[e.ret]:inc() end)',
  "%-e:1: e.ret is known when the call returns: use sysreturn", "the result at the entry")
refused('syscall("*", function(e) n[e.func]:inc() end)',
  "%-e:1: which call it is, is a number in the kernel: e.nr; up.syscall_name", "a name of any call")
refused('syscall("*", function(e) n[e.args.fd]:inc() end)',
  "%-e:1: the arguments of syscall %* have no names: e%.arg0 is the first", "a named argument of any call")
refused('syscall("*", function(e) n[e.arg6]:inc() end)', "%-e:1: syscall %* has 6 arguments, which begin with e%.arg0",
  "a seventh argument")
run = target.uplua [[--explain -e 'n = count() sysreturn("lseek", function(e) n[e.ret]:inc() end)']]
like(run.out, "sysreturn lseek %(at the call's return%)\n.*sysreturn lseek %(at the call's entry, " ..
              "for the handler at its return%)\n  at       the kernel's tracepoints " ..
              "syscalls:sys_enter_lseek and syscalls:sys_exit_lseek, and what",
     "--explain")
like(run.out, "storage of each thread", "… and what it keeps")

-- The stack pointer with which a thread has entered the kernel, at both ends of a call, by its probe and that of all.
for _, spec in ipairs { "write", "*" } do
  local shown = target.uplua(("-e %s -- dd if=/dev/zero of=/dev/null bs=1 count=23 status=none"):format(target.quote([[
    local at, same, nr = hash(), count(), syscall_number "write"
    syscall("SPEC", function(e) if e.nr == nr then at[e.tid] = e.sp end end)
    sysreturn("SPEC", function(e) if e.nr == nr then same[{ e.sp == at[e.tid], e.sp > 4096 }]:inc() end end)
    at_exit(function() for k, n in same:pairs() do print(k[1], k[2], n) end end)]]):gsub("SPEC", spec)))
  is(shown.err .. shown.out, "true\ttrue\t23\n", "e.sp of " .. spec)
end
ok(os.remove(path), "clean")
target.done()
tap.done_testing()
