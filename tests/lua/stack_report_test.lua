-- uplua.stack_report: what profile.lua, stackcount.lua and offcputime.lua have in common: tables of functions, lines
-- and instructions, callers, intervals, differences; and the options that do not go together.
-- Runs once: its stacks are those of stack_test and unwind_test.
local tap    = require "tap"
local target = require "target"
local text   = require "uplua.text"
local up     = require "uplua"
local is, like, ok = tap.is, tap.like, tap.ok

local CALLS = "./build/targets/calls"
local function stackcount(options)
  return target.uplua(("stackcount.lua %s %s:negative -- %s"):format(options, CALLS, CALLS))
end

-- --- stackcount: 101 calls of one function ---

local run = stackcount "--functions"
is(run.err, "", "a table of functions: nothing is lost")
like(run.out, "\n *101 +100.0 %% +@+ +101 +100.0 %%  negative +calls\n", "self and total of the function")
like(run.out, "\n *0 +0.0 %% +101 +100.0 %%  main +calls\n", "total of its callers")
like(run.out, "\n101 hits in %d+ functions\n", "… and the sum")
run = stackcount "--functions --lines --user"
like(run.out, "\n *101 +100.0 %% +@+ +101 +100.0 %%  negative +calls%.c:%d+ +calls\n", "--functions --lines: by line")
run = stackcount "--lines"
like(run.out, "\n +negative%+0x0 %S*targets/calls%.c:%d+\n", "--lines of stacks: each frame's")
like(run.out, "\n +101\n\n101 hits in 1 stack\n", "… and the stacks' numbers")
run = stackcount "--callers negative"
like(run.out, "\n *101 +100.0 %%  negative\n *101 +100.0 %%  [^\n]+\n", "--callers")
like(run.out, "\n101 hits, 101 of them in negative: 100.0 %%\n", "… and their share")
run = stackcount "--interval 5s --functions"
like(run.out, "\n?[%d:.]+  101 hits in [%d.]+ m?s\nSelf +Self %%[^\n]+\n *101 +100.0 %%",
  "a table for an interval that is cut")
run = stackcount "--interval 5s"
like(run.out, "\n?[%d:.]+  101 hits in [^\n]+\nHits +Share +Stack\n *101 +100.0 %%  negative < [^\n]+_start\n$",
  "stacks of an interval: a line each")
run = target.uplua(("stackcount.lua --interval 5s --by process %s:negative -- %s"):format(CALLS, CALLS))
like(run.out, "\nHits +Share +Process +Stack\n *101 +100.0 %%  calls %(pid %d+%)  negative < ", "… by whom")

local folded = target.folder() .. "-calls.folded"
target.uplua(("stackcount.lua -o %s %s:negative -- %s"):format(folded, CALLS, CALLS))
run = target.uplua(("stackcount.lua --diff %s %s:negative %s:add3 -- %s"):format(folded, CALLS, CALLS, CALLS))
like(run.out, "\n +100.0 %% +81.5 %% +%-18.5 %% [^\n]+  negative\n", "--diff: 101 of 101 calls before, of 124 now")
like(run.out, "\n +0.0 %% +18.5 %% +18.5 %% [^\n]+  add3\n", "… and what is new")
os.remove(folded)

-- --- offcputime: one sleep ---

-- SHOWN is the time of the sleep that RUN has traced: no less than it was to last, and no more than the run did.
local began
local function is_sleep(shown, what)
  local ns = shown and text.duration((shown:gsub(" ", ""))) or -1
  ok(ns >= 300e6 and ns <= tonumber(up.now() - began), what, shown)
end
local function sleep(options)
  began = up.now()
  return target.uplua(options .. " --min 100ms -- sleep 0.3")
end
run = sleep "offcputime.lua --functions --blocked"
local total, self =
  run.out:match "\n *([%d.]+ m?s) +100.0 %% +@+ +([%d.]+ m?s) +100.0 %% +1  hrtimer_nanosleep +%[kernel%]\n"
is_sleep(total, "what waits is the function that called the scheduler, with its time and how often")
is(self, total, "… all of it its own")
is(run.out:match "__schedule", nil, "… the scheduler itself is left out")
run = sleep "offcputime.lua --kernel --blocked"
like(run.out, "^ +__schedule%+[^\n]+\n", "--kernel: the kernel's part")
is(run.out:match "libc", nil, "… alone")
is_sleep(run.out:match "\n +([%d.]+ m?s)  1 time\n", "a stack's time, and how often")
run = sleep "offcputime.lua --interval 60s --functions"
is_sleep(run.out:match "^[%d:.]+  ([%d.]+ m?s) off the CPU in [%d.]+ m?s\n", "an interval of it")
run = sleep "offcputime.lua --callers hrtimer_nanosleep"
is_sleep(run.out:match "^ +Time +Share +Function, and who calls it\n *([%d.]+ m?s) +100.0 %%  hrtimer_nanosleep\n",
  "callers, by time")

-- --- profile: instructions ---

local HERTZ = target.hertz(997)
run = target.uplua(("profile.lua -U -I -F %d -- ./build/targets/busy user 0.3"):format(HERTZ))
like(run.out, "^u?[^\n]*\n?Self +Self %% +Instruction +Function +Address +Line +File\n", "columns of instructions")
local share, code, address =
  run.out:match "\n *%d+ +([%d.]+) %% +@+ *(.-) +compute%+0x%x+ +0x(%x+) +busy.c:%d+ +busy\n"
ok(share and tonumber(share) > 10, "the hottest instruction, with its function, address and line")
like(run.out, "\n%d+ samples in %d+ instructions?; all of busy %(pid %d+%)", "… and the sum")
if jit.arch == "x64" then
  like(code, "^%l+ ", "what it does")
  if tap.has("objdump", "binutils") then
    local listing = target.shell(("objdump -d --no-show-raw-insn --start-address=0x%s --stop-address=$((0x%s + 16)) " ..
      './build/targets/busy >"$D/out"'):format(tostring(address), tostring(address))).out
    local there = listing:match(("\n +%s:\t(%%l+)"):format(tostring(address)))
    ok(there and there:find((code or "?"):match "^%l*" or "?", 1, true) == 1,
      ("objdump has it there, too: %s, %s"):format(tostring(there), tostring(code)))
  end
else
  is(code, "", "there is no disassembler for this CPU")
end
run = target.uplua(("--format json profile.lua -U -I -F %d -- ./build/targets/busy user 0.3"):format(HERTZ))
like(run.out, '"address":"0x%x+"', "instructions as data")

run = target.uplua(("profile.lua -S -l -U -n 1 -F %d -- ./build/targets/busy user 0.3"):format(HERTZ))
like(run.out, "\n? +compute%+0x%x+ %S*busy%.c:%d+\n", "--stacks --lines: each frame's line")

-- --- folded stacks by interval ---

run = target.uplua('stackcount.lua -i 100ms -o "$D/target.folded" ./build/targets/calls:add3 -- ./build/targets/calls')
is(run.status, 0, "an interval and folded stacks")
local calls, timeless = 0, 0
for line in io.lines(target.folder() .. "/target.folded") do
  local at, stack, number = line:match "^([%d:.]+);(.*) (%d+)$"
  if not (at and at:find "^%d%d:%d%d:%d%d%.%d%d%d$" and stack:find "add3$") then timeless = timeless + 1 end
  calls = calls + tonumber(number or 0)
end
is(timeless, 0, "each line has the time of its interval")
is(calls, 23, "and all of them have all calls, those after the last interval, too")
like(run.err, "the folded stacks are in ", "where they are is said")

-- --- offcputime: what has not ended, and what had begun before ---
run = target.shell [[
  sleep 300 & program=$!
  await 'grep -q nanosleep /proc/$program/wchan' $program
  ./uplua --duration 0.3s offcputime.lua -- $program >"$D/out" 2>"$D/err"
  kill $program
]]
like(run.out, "^0 s off the CPU in 0 stacks\nNot counted: a thread that has waited since before tracing began: " ..
  "sleep %(tid %d+%) in [%w_]*nanosleep\n$", "a thread that waits throughout")
is(run.err, "", "… of which nothing is lost")
run = target.shell [[
  set -m
  cat >"$D/told.lua" <<'END'
require("uplua").at_start(function() io.stderr:write "tracing\n" end)
dofile(table.remove(arg, 1))
END
  mkfifo "$D/fifo"
  sh -c 'read line; exec sleep 300' <>"$D/fifo" & program=$!
  await 'grep -q pipe /proc/$program/wchan' $program
  ./uplua "$D/told.lua" scripts/offcputime.lua --blocked --user --top 1 -- $program >"$D/out" 2>"$D/err" & uplua=$!
  until_traces
  echo >"$D/fifo"
  await 'grep -q nanosleep /proc/$program/wchan' $program
  kill -INT $uplua
  wait $uplua
  kill $program
]]
like(run.out, "\nNot counted: a wait that has not ended, [%d.]+ m?s so far: [^\n]*nanosleep[^\n]*\n" ..
  "Not counted: a wait that had begun before tracing did\n$", "one that began before, and one that goes on")
run = target.uplua "--format json offcputime.lua --kernel --blocked --min 100ms -- sleep 0.3"
like(run.out, '{"field":"number","title":"Time","unit":"ns"},{"field":"label","title":"Thread","unit":"text"},' ..
  '{"field":"stack","title":"Stack","unit":"text"},{"field":"times","title":"Times","unit":"count"}',
  "as data, numbers have their unit")

-- --- what does not go together ---

for options, want in pairs {
  ["profile.lua --stacks --callers main"] = "%-%-stacks and %-%-callers: choose one",
  ["profile.lua --instructions --callers main"] = "%-%-instructions and %-%-callers: choose one",
  ["profile.lua --instructions --lines"] = "%-%-lines is for functions and stacks; leave out %-%-callers and",
  ["stackcount.lua --functions --callers main libc:malloc"] = "%-%-functions and %-%-callers: choose one",
  ["stackcount.lua --user --kernel libc:malloc"] = "%-%-user and %-%-kernel together leave nothing",
  ["stackcount.lua --interval 1s --flame x.svg libc:malloc"] = "%-%-interval is for tables and folded stacks; leave",
  ["offcputime.lua --interval 1s --callers main"] = "%-%-interval is for tables and folded stacks; leave out",
  ["offcputime.lua --diff /dev/null --functions"] = "%-%-diff is a table of functions; leave out",
} do
  run = target.uplua(options .. " -- true")
  is(run.status, 2, options .. ": status")
  like(run.err, ("^%s: %s[^\n]*; see %%-%%-help\n$"):format(options:match "^[^.]+" .. "%.lua", want), "… and why")
end
os.remove "x.svg"

target.done()
tap.done_testing()
