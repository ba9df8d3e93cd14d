-- --new and --test: a script that --new has written compiles, runs and passes its test; what --test says of tests that
-- pass, fail, skip, crash, and check nothing. Runs once: what is asked has to do with files and what is printed.
local tap = require "tap"
local target = require "target"

local UPLUA, CALLS = target.shell "realpath ./uplua build/targets/calls".noise:match "^(%S+)\n(%S+)"

-- ./uplua ARGUMENTS in a new folder, in which SETUP (a shell script) has been run; "FILE" prints follow in `target`.
local function uplua_in(setup, arguments, print)
  return target.shell(([[
    rm -rf "$D/in" && mkdir -m 755 "$D/in" && chmod 755 "$D" && cd "$D/in" || exit 99
    %s
    %s %s >"$D/out" 2>"$D/err" </dev/null
    status=$?
    cat %s >"$D/target" 2>/dev/null
    cd / && rm -rf "$D/in"
    exit $status]]):format(setup, UPLUA, arguments, print or "/dev/null"))
end

-- --- --new ---

local run
local new = uplua_in("", "--new reads libc:malloc syscall:read tracepoint:sched:sched_switch", "reads.lua")
tap.is(new.status .. new.err, "0", "--new writes")
tap.like(new.out, "^reads.lua, its test reads_test.lua and its page reads.md are there", "what there is now")
tap.like(new.target, "%-%- syscall:read: e%.args%.fd %(%w+%), e%.args%.buf", "a system call's arguments by name")
tap.like(new.target, "%-%- tracepoint:sched:sched_switch: e%.args%.prev_comm", "those of a tracepoint's fields")

local NEW = UPLUA .. " --new reads libc:malloc syscall:read >/dev/null"
local tested = uplua_in(NEW, "--test reads_test.lua")
tap.is(tested.status .. tested.err, "0", "its own test passes")
tap.like(tested.out, "^TAP version 13\nok 1 %- reads_test.lua: the handlers compile\n", "as TAP")
tap.like(tested.out, "\nok %d+ %- reads_test.lua: libc:malloc: what stands there was hit\n", "both probes are hit")
tap.like(tested.out, "\nok %d+ %- reads_test.lua: syscall:read: what stands there was hit\n", "the other one")
tap.like(tested.out, "\n1%.%.%d+\n# %d+ checks passed, 0 failed, 0 skipped\n$", "and the plan")

-- One folder up, and a binary that is named from the folder in which --new was called.
run = uplua_in("mkdir w bin && cp " .. CALLS .. " bin/calls && (cd w && " .. UPLUA ..
  " --new own uprobe:../bin/calls:negative uretprobe:../bin/calls:negative >/dev/null)", "--test w", "w/own.lua")
tap.is(run.status .. run.err, "0", "a test that hits none of the probes passes, from another folder, too")
tap.is((run.out:gsub("^.*\n(ok 4)", "%1")), "ok 4 # SKIP 'ls /' hits none of the probes: have COMMAND be a program " ..
  "that does\n1..4\n# 3 checks passed, 0 failed, 1 skipped\n", "and says what it needs")
tap.like(run.target, 'up%.probe%("uprobe:/[^"]*/in/bin/calls:negative", ', "the binary by its whole path")
run = uplua_in("mkdir w bin && cp " .. CALLS .. " bin/calls && (cd w && " .. UPLUA ..
  " --new own ../bin/calls:negative uretprobe:../bin/calls:negative >/dev/null)",
  "--format csv -o report w/own.lua -- bin/calls", "report")
tap.is(run.status, 0, "it runs elsewhere, too")
tap.like(run.target, "/in/bin/calls:negative,calls,101\n", "a row of the entries")
tap.like(run.target, "\nuretprobe:/[^\n]*/in/bin/calls:negative,calls,101\n", "and one of the returns")

run = uplua_in(UPLUA .. " --new every 'syscall:*' 'sysreturn:open*' >/dev/null",
  "--format csv -o report every.lua --top 0 -- ls /", "report")
tap.is(run.status, 0, "all system calls")
tap.like(run.target, "\nsyscall:%*,getdents64,ls,%d+\n", "a row for each, by its name")
tap.like(run.target, "\nsysreturn:open%*,openat,ls,%d+\n", "of a pattern, too")
run = uplua_in(UPLUA .. " --new every 'syscall:*' >/dev/null", "--test .")
tap.like(run.status .. run.err .. run.out, "^0TAP.*syscall:%*: what stands there was hit\n", "alone, too")

run = uplua_in("", ("--new own %s:mixed"):format((CALLS:gsub("calls$", "typed"))), "own.lua")
tap.like(run.target:gsub("\n%-%-   ", " "), ":mixed: x %(no handler can read it: it is a 'double', which handlers",
  "an argument that handlers cannot read, and why")

-- What cannot be probed here is said.
local kprobes = target.uplua("--info").out:match "\n  kprobe +not here: ([^\n]*)"
if kprobes then
  run = uplua_in("", "--new k kprobe:vfs_read")
  tap.is(run.out, ("k.lua, its test k_test.lua and its page k.md are there.\nIt does not run on this machine: " ..
    "kprobe:vfs_read: %s (uplua --info)\n"):format(kprobes), "what this kernel lacks is said")
else
  tap.skip "kprobes can be set here"
end

local plain = uplua_in(UPLUA .. " --new plain >/dev/null", "--duration 0 --comm of_none plain.lua")
tap.is(plain.status .. plain.out, "0Probe  Process  Hits\n", "one without specs runs as it is")

for _, case in ipairs {
  { "", "--new 'a b'", 2, "^uplua: %-%-new: a name has letters, digits, %- and _, as in slow_reads; got 'a b'\n" },
  { "", "--new ../reads", 2, "^uplua: %-%-new: a name has letters" },
  { "", "--new", 2, "^uplua: %-%-new needs a value: %-%-new NAME\n" },
  { "touch reads.md", "--new reads", 1, "^uplua: %-%-new: reads.md is there already\n$" },
  { "", "--new reads libc:no_such_function", 1, "^uplua: .*no_such_function" },
  { "", "--new reads syscall:no_such_call", 1, "^uplua: .*no_such_call" },
  { "", "--new reads profile", 1, "^uplua: %-%-new: 'profile' names no probe: write KIND:NAME or BINARY:FUNCTION, " ..
    "such as syscall:openat or libc:malloc; what profile probes stand at, uplua %-%-list 'profile:%*' tells\n$" },
  { "", "--new reads malloc", 1, "^uplua: %-%-new: 'malloc' names no probe: write KIND:NAME or BINARY:FUNCTION, " ..
    "such as syscall:openat or libc:malloc; uplua %-%-list KIND:PATTERN tells what there is\n$" },
  { "", "--new reads uprobe:malloc", 1, "^uplua: %-%-new: uprobe needs functions, as in 'uprobe:libc:mal%*'\n$" },
} do
  local run = uplua_in(case[1], case[2], "reads.lua")
  tap.is(run.status, case[3], case[2] .. " is refused")
  tap.like(run.err, case[4], "which says why")
  tap.is(run.target, "", "and writes nothing")
end

-- --- --test ---

local function write(name, text) return ("cat >%s <<'EOF'\n%s\nEOF\n"):format(name, text) end

local TEST = 'local test = require "uplua.test"\n'
local GOOD = write("good_test.lua", TEST .. [[
  test.ok(true, "true is")
  test.is({ 1, { a = "b" } }, { 1, { a = "b" } }, "equal tables")
  test.like("23 primes", "^%d+ p", "a pattern")
  test.skip "no #101 here"]])
run = uplua_in(GOOD .. "mkdir tests\n" .. write("tests/later_test.lua", TEST .. 'test.ok(1, "one")'), "--test .")
tap.is(run.status .. run.err, "0", "checks that pass")
tap.is(run.out, [[
TAP version 13
ok 1 - good_test.lua: true is
ok 2 - good_test.lua: equal tables
ok 3 - good_test.lua: a pattern
ok 4 # SKIP no \#101 here
ok 5 - later_test.lua: one
1..5
# 4 checks passed, 0 failed, 1 skipped
]], "two files are one report")

run = uplua_in(write("bad_test.lua", TEST .. [[
test.is({ a = 23 }, { a = 101 }, "the numbers")
test.ok(nil, "nothing")
test.like("x", "^y", "a letter")]]), "--test bad_test.lua")
tap.is(run.status, 1, "checks that fail")
tap.like(run.out, "not ok 1 %- bad_test.lua: the numbers\nnot ok 2 .*not ok 3 ", "are said")
tap.like(run.out, "\n# 0 checks passed, 3 failed, 0 skipped\n$", "and counted")
tap.like(run.err, "#   at %S*bad_test.lua:2\n#   got  {a = 23}\n#   want {a = 101}\n", "with the line, and both values")

run = uplua_in(write("crash_test.lua", TEST .. 'test.ok(true, "one")\nlocal x = nil + 1'), "--test .")
tap.is(run.status, 1, "a test that raises an error fails")
tap.like(run.out, "\nnot ok 2 %- crash_test.lua: ended early, with status 1\n", "which is said")
run = uplua_in(write("none_test.lua", TEST), "--test .")
tap.like(run.status .. run.out, "^1.*not ok 1 %- none_test.lua: checks nothing\n", "one without checks fails, too")
run = uplua_in("", "--test .")
tap.like(run.status .. run.err, "^2uplua: %-%-test: . has no tests: scripts whose names end in _test.lua", "no tests")
run = uplua_in(write("plain.lua", "print(1)"), "--test plain.lua")
tap.like(run.status .. run.err, "^2uplua: %-%-test: plain.lua is no test: these are scripts whose names end in _test",
  "a script that is no test is not run")
run = uplua_in("", "--test nowhere")
tap.like(run.status .. run.err, "^2uplua: %-%-test: there is no nowhere\n", "no folder")

local TIMER = UPLUA .. " --new timer interval:100ms >/dev/null"
run = uplua_in(TIMER, "--duration 1s timer.lua")
tap.like(run.status .. run.out, "^0Probe +Process  Hits\n%S+ +%d+\n$", "a timer's event has no process")
run = uplua_in(UPLUA .. " --new two libc:malloc >/dev/null", "--duration 1s two.lua --interval 300ms -- " .. CALLS)
tap.is(run.status, 0, "a report for each interval")
run = uplua_in(write("left_test.lua", TEST .. [[
print("#", test.start({ "sleep", "1000" }).pid)
local x = nil + 1]]), "--test .")
local pid = run.out:match "#\t(%d+)"
tap.ok(pid and not target.read(("/proc/%s/stat"):format(pid)):find "%) [RSD]", "a test that crashes leaves no process")

-- --- what tests can do ---

run = uplua_in("mkdir scripts\n" .. write("counts.lua", 'return { name = "module" }') .. write("scripts/mine.lua", [[
local up = require "uplua"
local calls = up.count()
up.uprobe(arg[1] .. ":negative", function(e) calls[e.arg0 % 2 == 0 and "even" or "odd"]:inc() end)
up.at_exit(function() print(calls) print "done" print(require "counts".name) end)]])
  .. write("mine_test.lua", TEST .. ([[
local CALLS = "%s"
local run = test.run { "mine.lua", CALLS, target = { CALLS } }
test.is(run.status, 0, "status")
test.is(run.objects, { calls = { even = 51, odd = 50 } }, "counts")
test.like(run.output, "negative", "what the target prints")
test.is(run.text, "done\nmodule\n", "text")
test.is(run.ledger, {}, "ledger")
local program = test.start { "sh", "-c", "echo ready; exec sleep 100" }
test.is(program:wait_for "r%%a*e(%%a+)", "ady", "what it says")
test.ok(program:is_running(), "it runs")
program:stop "INT"
test.ok(not program:is_running(), "it does not")
local ok, why = pcall(program.wait_for, program, "never")
test.like(tostring(why), "sh was to print \"never\" and has ended; it printed:\nready", "the end is said")
local ok, why = pcall(test.run, { "mine.lua", targets = {} })
test.like(tostring(why), "there is no field 'targets'; did you mean 'target'", "a wrong field")]]):format(CALLS)),
  "--test .")
tap.is(run.status .. run.err, "0", "scripts by name, modules, targets")
tap.like(run.out, "\n# 10 checks passed, 0 failed, 0 skipped\n$", "all of them")

run = target.uplua "--test examples/library"
tap.is(run.status .. run.err, "0", "the test of the example of a library")
tap.like(run.out, "\n# 4 checks passed, 0 failed, 0 skipped\n$", "passes")

target.done()
tap.done_testing()
