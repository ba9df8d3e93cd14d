-- Numbers of processes and threads are given away again: whoever gets the number of one that was traced is a stranger.
local tap = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

-- Runs ./uplua ARGUMENTS beside `pid_reuse MODE`, of which $FIRST, $SECOND and $MAIN are the numbers (of `outside`
-- $FIRST alone), until that has done its work.
local function beside(mode, arguments)
  return target.shell(([[
    set -m
    mkfifo "$D/in"
    build/targets/pid_reuse %s <"$D/in" >"$D/target" &
    program=$!
    exec 7>"$D/in"
    until_said ready
    read -r _ FIRST SECOND MAIN <"$D/target"
    ./uplua %s >"$D/out" 2>"$D/err" 7>&- </dev/null &
    uplua=$!
    until_traces
    printf x >&7
    until_said done
    kill -INT $uplua
    wait $uplua
    status=$?
    exec 7>&-
    wait $program
    exit $status]]):format(mode, arguments))
end

local reason = target.shell('build/targets/pid_reuse >"$D/out"').out:match "[^\n]+"
if reason then
  print("1..0 # SKIP no number can be asked for: " .. reason)
  os.exit(0)
end

-- How often each probe was hit by whoever is traced.
local COUNTED = [[ -e '
  local n, GETPPID = up.count(), up.syscall_number "getppid"
  up.probe("./build/targets/pid_reuse:hit", function(e) n["entry"]:inc() end)
  up.retprobe("./build/targets/pid_reuse:hit", function(e) n["return"]:inc() end)
  up.syscall("getppid", function(e) n["call"]:inc() end)
  up.sysreturn("getppid", function(e) n["result"]:inc() end)
  up.raw_tracepoint("sys_enter", function(e) if e.args.id == GETPPID then n["raw"]:inc() end end)
  up.after(0, function() io.stderr:write "tracing\n" end)
  up.at_exit(function() print("seen", n["entry"], n["return"], n["call"], n["result"], n["raw"]) end)']]
local function seen(run) return run.out:match "seen\t([^\n]*)" end

is(seen(beside("processes", "-p $FIRST,$SECOND" .. COUNTED)), "23\t23\t23\t23\t23",
  "a process with the number of one that has exited is none of the target's")
is(seen(beside("threads", "--tid $FIRST,$SECOND" .. COUNTED)), "23\t23\t23\t23\t23",
  "nor is a thread of the same process")
is(seen(beside("processes", "--follow -p $MAIN" .. COUNTED)), "124\t124\t124\t124\t124",
  "with --follow one that the target has started is, whatever its number was")

local run = beside("outside", "--follow -p $FIRST" .. COUNTED)
local attempts = run.target:match "done (%d+)"
is(seen(run), ("\t%s"):format(attempts):rep(5):sub(2),
  "a stranger's process with the number of one that has just ended is none of the target's")

-- Scripts that keep something by number. Not each of their switches is told on all machines (doc/internals.md, Other
-- kernels); what is told must be the target's.
local function script(mode, target_option, name, options)
  return beside(mode, ([[%s -e 'arg = { %s } arg[0] = "scripts/%s.lua" dofile(arg[0])
    up.after(0, function() io.stderr:write "tracing\n" end)']])
    :format(target_option, options, name))
end

run = script("threads", "-p $MAIN", "offcputime", [["--min", "100ms"]])
like(run.out, " off the CPU in %d+ stack", "offcputime")
is(run.out:find "first", nil, "the end of a thread is no wait, which the next one with its number would end")
run = script("processes", "-p $FIRST,$SECOND", "runqlat", [["--by-process"]])
like(run.out, "^Process +PID +Times ", "runqlat")
is(run.out:find "stranger", nil, "a stranger's waits are none of the target's")

target.done()
tap.done_testing()
