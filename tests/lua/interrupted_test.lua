-- System calls that do not simply return: those that a signal interrupts, which the kernel makes again or lets fail;
-- the end of a signal's handler; and those that seccomp answers before they have begun.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

-- What CODE prints of COMMAND, and its losses.
local function traced(code, command, options)
  local run = target.uplua(("%s -e %s -- ./build/targets/%s"):format(options or "", target.quote(code), command))
  return run.out, run.err:gsub("^uplua: not everything was seen:\n", ""), run.status
end

-- Counts the returns of the calls SPEC by what CODE says of e.
local function counted(spec, key, command)
  return traced(([[
    n = count()
    sysreturn(%s, function(e) n[%s]:inc() end)
    at_exit(function()
      local rows = {}
      for k, times in n:pairs() do rows[#rows + 1] = ("%%s: %%d"):format(tostring(k), tonumber(times)) end
      table.sort(rows) print(table.concat(rows, "\n")) n:clear()
    end)]]):format(spec, key), command)
end

-- --- restarted: one nanosleep that fails, one read, made again about eight times ---

for _, spec in ipairs { '{ "rt_sigreturn", "nanosleep", "clock_nanosleep", "getppid" }', '"*"' } do
  local out, err = traced(([[
    local ends, slept, refused, odd = count(), count(), count(), count()
    local END, SLEEP, CLOCK, PARENT = syscall_number "rt_sigreturn", syscall_number "nanosleep",
      syscall_number "clock_nanosleep", syscall_number "getppid"
    sysreturn(SPEC, function(e)
      if e.nr == END then ends:inc() end
      if e.nr == SLEEP or e.nr == CLOCK then slept[e.ret]:inc() end
      if e.nr == PARENT then refused[e.ret]:inc() end
      if e.nr ~= END and e.ret <= -512 and e.ret >= -516 then odd:inc() end
    end)
    at_exit(function()
      print("ends", ends:get()) print("slept", slept[-4]) print("refused", refused[-1]) print("odd", odd:get())
      for k in slept:pairs() do if k ~= -4 then print("slept", k) end end
      ends:clear() slept:clear() refused:clear()
    end)]]):gsub("SPEC", spec), "restarted")
  local handled = tonumber(out:match "^(%d+) %-1 1 1 25\n" or out:match "\n(%d+) %-1 1 1 25\n")
  ok(handled and handled > 10, spec .. ": the program's own word", out)
  is(out:match "ends\t(%d+)", tostring(handled), spec .. ": each rt_sigreturn returns")
  is(out:gsub("%d+ %-1 1 1 25\n", ""):gsub("ends\t%d+\n", ""), "slept\t1\nrefused\t25\nodd\t0\n",
    spec .. ": one nanosleep that fails by EINTR, 25 calls that seccomp refuses, and no error of the kernel's own")
  is(err, "", spec .. ": nothing is missing")
end

-- --- interrupted: what becomes of each is known ---

local READS = [[
  local n, inner, outer, ledger = count(), ring(), ring(), {}
  local READ = syscall_number "read"
  sysreturn(SPEC, function(e)
    if e.nr == READ and (e.arg0 == 100 or e.arg0 == 101) then
      n[{ up.i32(e.arg0), e.ret }]:inc()
      if e.arg0 == 100 then outer:emit { at = e.time, took = e.elapsed } end
      if e.arg0 == 101 then inner:emit { at = e.time } end
    end
  end)
  local first, last, whole
  inner:each(function(r) first = math.min(first or r.at, r.at) last = math.max(last or r.at, r.at) end)
  outer:each(function(r) whole = whole or { r.at - r.took, tonumber(r.at) } end)
  at_exit(function()
    for _, k in ipairs { { 100, 1 }, { 100, -4 }, { 101, 1 } } do print(k[1], k[2], n[k]) end
    local rows = 0
    for _ in n:pairs() do rows = rows + 1 end
    print(rows, whole[1] < first and last < whole[2])
    n:clear()
  end)]]
for _, spec in ipairs { '"read"', '"*"', '{ "pread64", "read" }' } do
  local out, err, status = traced(READS:gsub("SPEC", spec), "interrupted")
  is(status .. " " .. out, "0 100\t1\t2\n100\t-4\t1\n101\t1\t23\n3\ttrue\n",
    spec .. ": a read that goes on behind 23 handlers is one, from its begin to its end, and so are theirs")
  like(err, "^  5 × " .. (spec == '"*"' and "%*" or "read") ..
    ": calls that never returned: left by longjmp or the like\n$",
    "… and 5 that a handler leaves by a jump are told of")
end

local function rows(spec, key) return (counted(spec, key, "interrupted")) end
is(rows('"nanosleep"', "{ e.func, e.ret }"), "nanosleep, -4: 1\n",
  "a sleep that goes on as restart_syscall is one call")
is(rows('"rt_sigsuspend"', "e.ret"), "-4: 1\n", "rt_sigsuspend")
is(rows('"rt_sigreturn"', "e.func"), "rt_sigreturn: 31\n", "a handler's end is one, but where it jumps away")

-- The tables of syscalls.lua and systrace.lua, and the lines.
for _, script in ipairs { "syscalls.lua --errors", "systrace.lua --count" } do
  local run = target.uplua(script .. " -- ./build/targets/interrupted")
  ok(not run.out:find "error 5%d%d" and not run.out:find "ERESTART", script .. ": no error that is none to a program",
    run.out)
  like(run.out, "\nnanosleep +1 +1 ", script .. ": one nanosleep, which failed")
end
local run = target.uplua "systrace.lua -e read,nanosleep -- ./build/targets/interrupted"
local _, again = run.out:gsub("read%(100, [^\n]-= %? ERESTARTSYS %(To be restarted if SA_RESTART is set%)", "")
is(again, 29, "systrace.lua has a line for each attempt, as strace")
is(traced("print(errno_name(512), errno_name(513), errno_name(514), errno_name(516), errno_name(515))", "denied"):
  gsub("6\n", ""), "ERESTARTSYS\tERESTARTNOINTR\tERESTARTNOHAND\tERESTART_RESTARTBLOCK\terror 515\n", "their names")

-- --- seccomp ---

local out, err = counted('"umount2"', "{ e.func, e.ret, up.u64(e.args.name) > 4096, e.arg1 }", "denied")
is(out, "6\numount2, -1, true, 0: 6\n", "denied: six returns, with the arguments that are in registers")
is(err, "", "… and nothing is missing")
out, err = counted('"umount2"', "{ e.ret, e.elapsed }", "denied")
like(out, "\n%-1, 0: 6\n", "they have taken no time")
is(err, "  6 × umount2: return of a call that was not made, as by seccomp: e.elapsed is 0\n", "… which is said")
for _, script in ipairs { "trace.lua --return syscall:umount2", "systrace.lua -e umount2" } do
  run = target.uplua(script .. " -- ./build/targets/denied")
  local _, times = run.out:gsub("umount2%([^\n]*0%) += %-1 EPERM", "")
  is(times, 6, script .. " shows them", run.out)
end

out, err = counted('{ "socket", "setpriority", "getpgid" }', "{ e.func, e.ret, e.arg0 }", "refused")
local want = { "setpriority, 0, 0: 101" }
for i = 0, 22 do want[#want + 1] = ("socket, -13, %d: 1"):format(i) end
table.sort(want)
is(out, table.concat(want, "\n") .. "\n", "refused: each with its arguments")
is(err, "  3 × getpgid: return of a call whose entry was not seen\n",
  "… and those for which a signal is sent have no result, and are told of")
out, err = counted('"*"', "{ e.nr, e.ret, e.arg1, e.arg2 - e.arg0 }", "refused")
like(out, ("%%f[%%w]%d, %%-13, 7, 1: 23\n"):format(require "uplua".syscall_number "socket"), "of all calls")
is(err, "  3 × *: return of a call whose entry was not seen\n", "… and the same loss")
target.done()
tap.done_testing()
