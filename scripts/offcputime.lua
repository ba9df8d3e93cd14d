--[=[
offcputime: what does the program wait for?

  uplua offcputime.lua [options] [-- PID ... or COMMAND]

measures each time that a thread is off the CPU, from the switch away from it to the switch back, and prints at the end
the stacks in which most time was spent so: in locks, sleeps, reads from disks, pipes and sockets.

  -m, --min TIME         leaves out shorter times (default 1us)
  -B, --blocked          only threads that wait, not those that another one has taken the CPU from
      --by WHAT          by WHAT and stack: process, thread, cgroup, container, cpu, or an expression of the event
                         such as e.uid (default: the thread's name)
      --key [NAME=]EXPR  by the value of EXPR, too, an expression of the event e at the switch away; may be repeated
      --sum [NAME=]EXPR  with the sum of EXPR's values, of that event, too; may be repeated
      --where EXPR       only waits for which EXPR is true, of that event: 'e.cpu == 0', 'e.args.prev.prio < 100'
  -n, --top N            the N stacks, functions or lines with most time (default 20; 0: all)
  -f, --functions        a table of functions instead: self, the time in which the function itself waited, for which it
                         had called the kernel's scheduler; total, also what it had called
  -l, --lines            each frame with its line of the source; with --functions by line
  -c, --callers FUNC     who calls FUNC, as a tree
  -i, --interval TIME    a table for each TIME, of the waits that have ended in it; on a terminal it lives (top.lua)
  -U, --user             the programs' part of stacks only
  -K, --kernel           the kernel's part only
  -o, --output FILE      by its suffix a flame graph (.svg), folded stacks (.folded), or a profile for pprof (.pb.gz);
                         of any other name: the report
      --folded FILE      writes all stacks to FILE with their microseconds, a line each, for other tools
      --flame FILE       draws all as a flame graph (SVG)
      --diff FILE        by function what differs from FILE, which another run has written with --folded or -o; with
                         -o changes.svg as a flame graph, too
      --before FILE      with --flame: draws what differs from FILE, which another run has written with --folded

A wait counts when it ends: of what goes on at the end, and of threads that have waited since before tracing began, the
last lines tell. taskstate.lua counts time that goes on, too.

  $ uplua --duration 10s offcputime.lua --blocked -- 4242
--]=]
local up     = require "uplua"
local by     = require "uplua.by"
local report = require "uplua.stack_report"
local stacks = require "uplua.stacks"
local text   = require "uplua.text"

local options = up.args {
  "offcputime.lua [options] [-- PID ... or COMMAND]",
  { "min,m",   "TIME", "duration", "1us", "leave out shorter times" },
  { "blocked,B",                          "only threads that wait" },
  { "by",      "WHAT", "string",   false, "by process, thread, cgroup, container, cpu or an expression of e" },
  { "key", "[NAME=]EXPR", "string", false, "by the value of EXPR, too; may be repeated", several = true },
  { "sum", "[NAME=]EXPR", "string", false, "with the sum of EXPR's values; may be repeated", several = true },
  { "where", "EXPR", "string", false,     "only waits for which EXPR is true, of e at the switch away" },
  report.options "stacks",
  arguments = 0,
}
report.check(options)

local away = up.hash { max = 65536 } -- thread → { since, stack, who, values }
local spent, times = up.sum(), up.count()
local least = options.min
local blocked_only = options.blocked

local who = by.new(options.by, { keys = options.key })
local function whose(e) return e.comm end
if who then whose = who.key end

local stack_of = report.stack(options)
local sums = by.sums(options.sum)
local values, put = sums.values, sums.put

-- A thread that could run, but another one was given the CPU, has a state of 0; the kernel adds a flag where it was in
-- the middle of its work. One that has ended does not come back: its number is another's then.
-- A command stands still before its first instruction, since uplua holds it there.
local DEAD, TRACED = 0x80, 0x08 -- TASK_DEAD and __TASK_TRACED of include/linux/sched.h
local is_command = up.target().command ~= nil
local where = up.expression(options.where or "true", { name = "--where", kind = "condition" })
local function counts(e)
  local state = bit.band(e.args.prev_state, 0xff)
  return state ~= DEAD and not (is_command and state == TRACED) and (not blocked_only or state ~= 0) and where(e)
end

-- Of --cpu is the CPU that a thread comes back to; it may have left another.
local cpus = up.target().cpus
local function ends_here(e) return true end
if cpus then ends_here = up.expression("e.cpu == " .. table.concat(cpus, " or e.cpu == "), { kind = "condition" }) end

up.raw_tracepoint("sched_switch", { every_cpu = true, begun = true }, function(e)
  if e.tid ~= 0 and counts(e) then
    away[e.tid] = { since = e.time, who = whose(e), stack = stack_of(e), values = values(e) }
  end
end)

-- The thread that comes is not the one that the kernel works for then.
up.raw_tracepoint("sched_switch", { all = true, every_cpu = true }, function(e)
  local next = e.args.next.pid
  local left = away[next]
  if left then
    local took = e.time - left.since
    if took >= least and ends_here(e) then
      local k = { left.who, left.stack }
      put(left.values, k)
      spent[k]:add(took)
      times[k]:inc()
    end
    away[next] = nil
  end
  if not counts(e) then away[e.tid] = nil end -- where the switch back from its last wait was not told
end)

report.run(options, {
  numbers = spent, times = times, sums = sums, open = away, unit = "ns", noun = "time", rank = "longest",
  innermost = stacks.waits,
  label = who and function(key) return who:text(key[1]) end or function(key) return key[1] end,
  label_title = who and who.title or "Thread",
  told = function(sum) return ("%s off the CPU"):format(text.time(sum)) end,
  show = function(row) return ("%12s  %s"):format(text.time(row.number), text.plural(row.times, "time")) end,
  title = "Off the CPU", file_unit = "us",
})
