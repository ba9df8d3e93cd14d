-- A target that a signal ends while probes are attached: the report says by which, and what of the probes can have
-- caused it; and nothing where none can.
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

local CALLS = "./build/targets/calls"
local ENTRY = 'uprobe("libc:getpid", function(e) end)'
local STEPPED = "  uprobe: the kernel steps the instruction that it is on; those that are known not to bear it are " ..
                "refused\n"
local RETURNED = "  uretprobe: a program that looks at its return addresses, or switches stacks, does not bear it; " ..
                 "--returns instructions leaves them alone\n"
local function begin(signal)
  return ("uplua: the target was ended by %s, which what was attached can cause:\n"):format(signal)
end

local function ends(signal, code, options)
  return target.uplua(("%s -e '%s' -- sh -c 'kill -%s $$'"):format(options or "", code, signal))
end

for _, signal in ipairs { "SEGV", "TRAP", "ILL" } do
  is(ends(signal, ENTRY).err, begin("SIG" .. signal) .. STEPPED, "a uprobe and SIG" .. signal)
end
local run = ends("SEGV", ENTRY .. ' uretprobe("libc:getpid", function(e) end)')
is(run.err, begin "SIGSEGV" .. STEPPED .. RETURNED, "entries and returns")
is(run.status, 139, "… and the exit status is as ever")
is(ends("SEGV", 'uretprobe("libc:getpid", function(e) end)', "--returns instructions").err,
  begin "SIGSEGV" .. STEPPED:gsub("uprobe", "uretprobe"), "returns at their instructions")

-- What none of the probes can have caused.
for _, signal in ipairs { "TERM", "KILL", "ABRT", "USR1" } do
  is(ends(signal, ENTRY).err, "", "SIG" .. signal .. " is none that probes bring")
end
is(ends("SEGV", 'tracepoint("sched:sched_switch", function(e) end) profile(99, function(e) end)').err, "",
  "nor do probes of the kernel's events bring any")
is(target.uplua(("-e '%s' -- sh -c 'exit 139'"):format(ENTRY)).err, "", "an exit status is no signal")
is(target.uplua(("-e '%s' -- %s"):format(ENTRY, CALLS)).err, "", "a target that ends by itself")
is(target.uplua("-e 'print(1)' -- sh -c 'kill -SEGV $$'").err, "", "without probes")

-- A watchpoint: where it is attached although the trial has found harm.
local function watched(word)
  return target.shell(([[export UPLUA_WATCH_TRIAL=%s
    unset UPLUA_WITHOUT
    mkfifo "$D/in"
    exec 7<>"$D/in"
    ./uplua --trust-watchpoints -e 'watch("./build/targets/watched:main", "x", function(e) end)
      after("50ms", function() os.execute("kill -TRAP " .. target().pids[1]) end)' \
      -- ./build/targets/watched wait <"$D/in" >"$D/out" 2>"$D/err"]]):format(word))
end
like(watched "harmful".err, "\n" .. begin "SIGTRAP" ..
  "  watch: hardware breakpoints end the traced program on this machine: 3 of 4 trial programs were killed by " ..
  "SIGTRAP\n$",
  "a watchpoint that is attached all the same")
like(watched "blind".err, "^uplua: %-%-trust%-watchpoints: [^\n]*\n$", "one that sees nothing ends nobody")

-- A process, where the kernel tells how it has ended (Linux 6.15).
run = target.shell [[
  mkfifo "$D/in"
  exec 7<>"$D/in"
  ./build/targets/watched wait <"$D/in" >"$D/target" & program=$!
  ./uplua -e 'uprobe("libc:getpid", function(e) end) after(0, function() io.stderr:write "tracing\n" end)' \
    -- $program >"$D/out" 2>"$D/err" & uplua=$!
  until_traces
  kill -SEGV $program
  wait $program
  wait $uplua]]
local major, minor = require "uplua.core".system.kernel():match "^(%d+)%.(%d+)"
if tonumber(major) > 6 or tonumber(major) == 6 and tonumber(minor) >= 15 then
  is(run.err, "tracing\n" .. begin "SIGSEGV" .. STEPPED, "a process")
else
  is(run.err, "tracing\n", "a process, of which this kernel does not tell how it ended")
end
target.done()
tap.done_testing()
