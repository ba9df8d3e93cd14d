-- A probe that saw nothing of the target: what happens in other tasks, and functions that another file of the target
-- defines, too, are said; of a probe with a hit, or where there is nothing else, nothing is.
local tap    = require "tap"
local target = require "target"
local is, like = tap.is, tap.like

-- --- another file's function ---

local OWN = "-- ./build/targets/own_qsort"
local run = target.script([[up = require "uplua" n = up.count()
up.uprobe("libc:qsort", function(e) n["calls"]:inc() end)]], OWN)
is(run.err, "uplua: uprobe libc:qsort: no hit; the target has a qsort elsewhere, too: own_qsort:qsort\n",
  "the program's own qsort is named")
run = target.script([[up = require "uplua" n = up.count()
up.uprobe("own_qsort:qsort", function(e) n["calls"]:inc() end)]], OWN)
is(run.err .. run.out:match "calls +%d+", "calls  23", "with hits nothing is said")
run = target.script([[up = require "uplua" n = up.count()
up.uprobe("libc:qsort_r", function(e) n["calls"]:inc() end)]], OWN)
is(run.err, "", "nor of what nobody else defines")
run = target.uplua("funccount.lua libc:qsort " .. OWN)
like(run.err, "uprobe libc:qsort: no hit; the target has a qsort elsewhere, too: own_qsort:qsort\n",
  "funccount says it, too")

-- --- other tasks ---

-- Runs PROBE under a target that waits, while 23 others are executed.
local function others(probe)
  return target.script(([[up = require "uplua" n = up.count()
local function count(e) n["hits"]:inc() end
%s
up.at_start(function()
  for i = 1, 23 do os.execute "true" end
end)]]):format(probe), "-- sleep 0.1")
end

local WHERE = "in other tasks, where the kernel may work for it: "
  .. "{.*} takes these, too, as a run without a target does\n$"
run = others [[up.tracepoint("sched:sched_process_fork", count)]]
local number = run.err:match("^uplua: tracepoint sched:sched_process_fork: no hit in the target, and (%d+) " .. WHERE)
tap.ok(number and tonumber(number) >= 23, "a tracepoint's hits of others are counted")
run = others [[up.raw_tracepoint("sched_process_fork", count)]]
number = run.err:match("^uplua: raw_tracepoint sched_process_fork: no hit in the target, and (%d+) " .. WHERE)
tap.ok(number and tonumber(number) >= 23, "… a raw one's")
run = others [[up.tracepoint("sched:sched_process_fork", { all = true }, count)]]
is(run.err, "", "nothing is said of one that takes all")
run = others [[up.args { "tool.lua" } up.tracepoint("sched:sched_process_fork", count)]]
is(run.err, "", "nor of what a script with options attaches for its own sake")
run = others [[up.tracepoint("syscalls:sys_enter_vfork", count)]]
is(run.err, "", "nor of system calls, which are the callers'")
run = others [[up.tracepoint("sched:sched_process_exec", count)]]
is(run.err .. run.out:match "hits +%d+", "hits  1", "nor where the target has one hit")
target.done()
tap.done_testing()
