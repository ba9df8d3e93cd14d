-- One language for probes: every kind has a spec, scripts take each, --list lists each, and what is wrong with one is
-- told with what to write instead. Runs once: the kinds have tests of their own for older kernels.
local tap    = require "tap"
local target = require "target"
local is, like, ok = tap.is, tap.like, tap.ok

local WATCHED, CALLS = "./build/targets/watched", "./build/targets/calls"
local WRITES, ADDED = 101, 23

local function run(arguments, program)
  return target.uplua(("--duration 20s %s -- %s"):format(arguments, program or WATCHED))
end

-- watch: by name, with an access, with a size; of one place, whatever the script.
local watches = target.watches "w" and target.watches "rw" and target.watches "x"
for _, spec in ipairs(watches and { ":counter", ":counter:w", ":counter:rw:4" } or {}) do
  local got = run("funccount.lua watch:" .. WATCHED .. spec)
  is(got.err, "", "watch: nothing is lost")
  like(got.out, "\ncounter +" .. WRITES .. "\n", "watch" .. spec .. ": each write, by the variable's name")
end
local got
if watches then
  like(run("funccount.lua watch:" .. WATCHED .. ":main:x").out, "\nmain +1\n", "what is executed")
  like(run("stat.lua -i 60 watch:" .. WATCHED .. ":counter").out, "\nSum +" .. WRITES .. "\n", "a column of stat.lua")
  got = run("trace.lua watch:" .. WATCHED .. ":counter")
  local out = got.out:gsub("done %d+\n", "") -- the program's own, which may stand inside of a line
  is(select(2, out:gsub("  counter%(value=%-?%d+, addr=0x%x+, ip=0x%x+%)\n", "")), WRITES, "lines of trace.lua")
end

-- perf, profile, interval.
like(run("funccount.lua perf:page-faults").out, "\npage%-faults +%d+\n", "perf: each event of the kernel's")
like(run("stat.lua -i 60 perf:page-faults:1").out, "\nSum +[1-9]%d*\n", "with a period, which is sampled")
like(run("trace.lua perf:page-faults").out, "  page%-faults%(ip=0x%x+, addr=0x%x+%)\n", "as lines")
local busy = "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'"
like(run("stackcount.lua perf:cpu-clock@" .. target.hertz(499), busy).out, "\n[%d,]+ hits in ",
     "perf: so many a second")
like(run("argdist.lua profile:" .. target.hertz(499), busy).out, "\nprofile:%d+ +[%d,]+\n", "profile, by e.func")
like(run("trace.lua interval:10ms", busy).out, " 0  interval:10ms%(%)\n", "interval, of no thread")
like(target.uplua(([[-e 'n = count() probe("watch:%s:counter:w", { "rw" }, function(e) n:inc() end)' -- %s]])
  :format(WATCHED, WATCHED)).err, "the option 'access' is given there, too: leave one out", "an option twice")

-- A function and a line of it, which runs each time it calls itself but the last.
local source = target.read "tests/targets/calls.c"
local line = select(2, source:match "^(.-)rest = factorial_depth%(":gsub("\n", "")) + 1
got = run(("funccount.lua %s:factorial_depth %s@calls.c:%d"):format(CALLS, CALLS, line), CALLS).out
like(got, "\nfactorial_depth %(%S+:factorial_depth%) +101\n", "a function and a line of it have rows of their own")
like(got, ("\nfactorial_depth %%(%%S+@calls%%.c:%d%%) +100\n"):format(line), "  … each with its hits")

-- Entry and return of one function have one name and one e.probe: they are rows of their own.
got = run(("funccount.lua uprobe:%s:add3 uretprobe:%s:add3"):format(CALLS, CALLS), CALLS).out
ok(got:find(("\nadd3 (uprobe:%s:add3)        23\nadd3 (uretprobe:%s:add3)     23\n"):format(CALLS, CALLS), 1, true),
  "entries and returns are not added up")
got = run("--format csv funccount.lua 'syscall:openat' 'sysreturn:opena*' -w 'e.ret >= 0'", "cat /dev/null")
local entries = got.out:match 'openat %(syscall:openat%)"?,(%d+)'
local returns = got.out:match 'openat %(sysreturn:openat%)"?,(%d+)'
ok(entries and returns and tonumber(entries) >= tonumber(returns), "… nor those of system calls, by a pattern")

-- Returns named by their kinds are returns in trace.lua.
got = run(("trace.lua 'uretprobe:%s:[an]*[3ed]'"):format(CALLS), CALLS)
is(select(2, got.out:gsub("  add3%(a=%d+, b=%d+, c=%d+%) = %d+ %(", "")), ADDED, "uretprobe: of several functions")
like(run "trace.lua sysreturn:openat".out, '  openat%(dfd=AT_FDCWD, filename="/etc/ld.so.cache", [^\n]* = 3 %(',
  "sysreturn: arguments by name")
like(run "trace.lua 'sysreturn:*'".out,
  '  openat%(dfd=AT_FDCWD, filename="/etc/ld.so.cache", [^\n]* = 3 %(', "of all calls")

-- What is wrong, and what to write.
local function refused(spec, message)
  local failed = run("funccount.lua " .. spec)
  is(failed.status, 1, spec .. " is refused")
  like(failed.err, "^uplua: " .. message .. "\n$", "… with what to write")
end
refused("profile:often", "profile:often: write profile:HERTZ, so many times a second on each CPU, .*: profile:99")
refused("profile:0", "profile:0: write profile:HERTZ, .*")
refused("perf:page-faults:x", "perf:page%-faults:x: 'x' is no number: write perf:page%-faults:PERIOD, .*")
refused("perf:page-faults:0", "perf: option 'period': 0 is not a whole number from 1 to .*")
refused("perf:cpu-clock", "perf:cpu%-clock: how often%? Write perf:cpu%-clock@99, .*, or perf:cpu%-clock:1000000, .*")
refused("perf:page-fault", "perf page%-fault: no such event; did you mean 'page%-faults'%?")
refused("interval:x", "interval: 'x' is not a duration.*")
refused("watch:" .. WATCHED .. ":counter:r", "watch:%S+: write watch:BINARY:VARIABLE, .*: watch:./app:counter:rw:8")
refused("watch:" .. WATCHED .. ":counter:w:3", "watch:%S+: write watch:BINARY:VARIABLE, .*")
refused("watch:" .. WATCHED .. ":countr", ".*no such variable in %S+; did you mean counter%?")
refused("sched:sched_switch", "uprobe sched:sched_switch: .*; did you mean tracepoint:sched:sched_switch%?")
refused("profile", "'profile' names no probe: .*; what profile probes stand at, uplua %-%-list 'profile:%*' tells")
like(run "funclatency.lua profile:99".err,
  "^uplua: profile:99: probes of the kind profile have no return\n$", "no return")

-- Every form that the manual names: a handler compiles, or what is asked for is not there, as said here. A row of its
-- tables that is not here is missed.
local TYPED = "./build/targets/typed"
local FORMS = {
  ["`BINARY:FUNCTION`"] = { TYPED .. ":integers", "libc:malloc" },
  ["`BINARY:FUNCTION@VERSION`, `BINARY:FUNCTION.constprop.0`"] = {
    "./build/targets/libversions.so:foo@V1", "./build/targets/libversions.so:foo@@V2",
    { TYPED .. ":integers.constprop.0", "uprobe %S+:integers.constprop.0: no such function in %S+" },
  },
  ["`BINARY:FUNCTION+0`"] = { TYPED .. ":integers+0", "./build/targets/libversions.so:foo+0" },
  ["`BINARY:str*`"] = { TYPED .. ":'int*'", "libc:'str[l-n]*'" },
  ["`BINARY:ns::Klass::method`, `BINARY:ns::Klass::*`"] = {
    { TYPED .. ":ns::Klass::method", "uprobe %S+:ns::Klass::method: no such function in %S+" },
  },
  ["`BINARY:FUNCTION+OFFSET`, `BINARY:0xADDRESS`"] = {
    TYPED .. ":integers+0", { TYPED .. ":0x7", "uprobe %S+:0x7: no code of %S+ lies there; " },
  },
  ["`BINARY@FILE:LINE`, `BINARY:FILE:LINE`"] = {
    { TYPED .. "@typed.c:1", "uprobe %S+@typed.c:1: [^\n]*line" },
    { TYPED .. ":typed.c:1", "uprobe %S+:typed.c:1: [^\n]*line" },
  },
  ["`{ spec, … }`"] = { "libc:malloc libc:calloc" },
  ["`perf:EVENT:PERIOD`, `perf:EVENT@HERTZ`"] = { "perf:cpu-clock:1000000", "perf:cpu-clock@99", "perf:page-faults" },
  ["`profile:HERTZ`, `interval:TIME`"] = { "profile:99", "interval:1s" },
  ["`watch:BINARY:VARIABLE`, `…:ACCESS`, `…:ACCESS:SIZE`"] = {
    "watch:" .. WATCHED .. ":counter", "watch:" .. WATCHED .. ":counter:rw", "watch:" .. WATCHED .. ":counter:rw:4",
    "watch:0x404040:w:8", "watch:0x404040:x", "watch:4210752:rw:2",
    { "watch:0x404040", "watch: how many bytes of 0x404040 are meant, .* or behind a spec :w:1, .* no known size" },
    { "watch:0x404041:w:8", "watch: 0x404041 is not a multiple of 8: .*" },
  },
}
local manual = target.read "doc/api.md"
for form, specs in pairs(FORMS) do
  ok(manual:find("\n| " .. form .. " |", 1, true), "the manual has " .. form)
  for _, spec in ipairs(specs) do
    local given, message = spec, nil
    if type(spec) == "table" then given, message = spec[1], spec[2] end
    local checked = target.uplua(("--check --trust-watchpoints funccount.lua %s -- %s"):format(given, WATCHED))
    if message then
      like(checked.err, "^uplua: " .. message, given .. " is refused")
    else
      is(checked.err, "", given .. " is accepted")
      like(checked.out, "funccount.lua: [^\n]* compiles?\n$", "… and compiled")
    end
  end
end
local tables = manual:match "A spec is one of(.-)\nIn the lists that"
for row in tables:gmatch "\n| (`[^|]*) |" do ok(FORMS[row], "what is asked for here: " .. row) end

-- --list.
local function list(what) return target.uplua("--list '" .. what .. "'") end
like(list "profile:*".out,
  "^profile:HERTZ  so many times a second on each CPU, from 1 to 1000000\n$", "profile")
like(list "interval:*".out, "^interval:TIME  each TIME, as 1s or 100ms, .*\n$", "interval")
like(list "perf:*faults".out, "\nperf:page%-faults\n$", "perf: events that match")
like(list("watch:" .. WATCHED .. ":coun*").out, "^watch:/%S+/watched:counter\n$", "watch: variables")
like(list("uretprobe:" .. CALLS .. ":mai*").out, "^uretprobe:/%S+/calls:main\n$", "uretprobe")
for _, kind in ipairs { "kretprobe", "fentry", "fexit" } do
  like(list(kind .. ":vfs_rea*").out, ("^%s:vfs_read\n%s:vfs_readlink\n"):format(kind, kind), kind)
end
is(list "raw_tracepoint:sched:sched_switc*".out, "raw_tracepoint:sched_switch\n", "raw_tracepoint")
is(list "sysreturn:openat*".out, "sysreturn:openat\nsysreturn:openat2\n", "sysreturn")
like(list "sched:sched_switch".err,
  "no such kind of probe: sched; did you mean tracepoint:sched:sched_switch%?", "a hint")
like(target.uplua "--json --list profile".out, '"probe":"profile:HERTZ"', "JSON")
for _, provider in ipairs(require "uplua.probe.providers".all()) do
  local whole = provider.list and provider.specified and provider.hits
  ok(provider.hidden or whole, provider.name .. " has specs and a list")
end

target.done()
tap.done_testing()
