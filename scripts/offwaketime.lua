--[=[
offwaketime: what does the program wait for, and who ends it?

  uplua offwaketime.lua [options] [-- PID ... or COMMAND]

measures each time that a thread waits, from the switch away from it to its wake-up, and prints at the end by whom and
where it was woken the stacks in which most time was spent so: first where it waited, then where the other one was that
woke it.

  -m, --min TIME         leaves out shorter times (default 1us)
  -n, --top N            the N pairs of stacks in which most time was spent (default 20; 0: all)
  -o, --output FILE      by its suffix a flame graph (.svg), folded stacks (.folded), or a profile for pprof (.pb.gz)
      --folded FILE      writes all to FILE with their microseconds, a line each, for other tools
      --flame FILE       draws all as a flame graph (SVG): the stack that waits, and above it the one that woke it
      --before FILE      with --flame: draws what differs from FILE, another run's --folded

A thread that waits from before tracing began, or still waits at its end, is not counted for that: the last lines tell
of these. What an interrupt ends (a timer, a disk) is ended by whichever thread it has interrupted, or by none: its
stack is that of the interrupt.

  $ uplua --duration 10s offwaketime.lua --flame waits.svg -- 4242
--]=]
local up     = require "uplua"
local files  = require "uplua.stack_files"
local report = require "uplua.stack_report"
local text   = require "uplua.text"
local view   = require "uplua.view"

local options = up.args {
  "offwaketime.lua [options] [-- PID ... or COMMAND]",
  { "min,m", "TIME", "duration", "1us", "leave out shorter times" },
  { "top,n", "N",    "integer",  20,    "the N pairs of stacks in which most time was spent; 0: all" },
  files.output, files.folded, files.flame, files.before,
  arguments = 0,
}
if up.target().cpus then up.args.fail "--cpu: threads change their CPU, and what they do on others would be missing" end
files.check(options)

local away = up.hash { max = 65536 } -- thread → { since, stack, comm }
local ongoing = report.ongoing(away)
local spent, times = up.sum(), up.count()
local least = options.min

-- include/linux/sched.h
local DEAD, TRACED = 0x80, 0x08
local is_command = up.target().command ~= nil

-- A command stands still before its first instruction, since uplua holds it there.
up.raw_tracepoint("sched_switch", { begun = true }, function(e)
  local state = bit.band(e.args.prev_state, 0xff)
  if e.tid ~= 0 and state ~= 0 and state ~= DEAD and not e.args.preempt and not (is_command and state == TRACED) then
    away[e.tid] = { since = e.time, stack = e:stack(), comm = e.comm }
  end
end)

-- In the context of who wakes it. One that still stands in a queue has not slept.
up.raw_tracepoint("sched_waking", { all = true }, function(e)
  local tid = e.args.p.pid
  local left = away[tid]
  if left and e.args.p.on_rq == 0 then
    local took = e.time - left.since
    if took >= least then
      local key = { left.comm, left.stack, e.comm, e:stack() }
      spent[key]:add(took)
      times[key]:inc()
    end
    away[tid] = nil
  end
end)

-- What is printed of KEY, { thread's name, its stack, the other one's name and stack }, with NS spent in it.
local function print_pair(key, ns)
  up.printf("%s\n     ended by %s in\n%s\n%12s  %s: %s\n\n", key[2], key[3], key[4], text.time(ns),
    text.plural(times:get(key) or 0, "time"), key[1])
end

local waits = view.new {
  { "comm", "Thread" }, { "waker", "Ended by" }, { "n", "Times", "count" }, { "ns", "Total", "ns" },
  { "stack", "Waits in" }, { "ended", "Ended in" }, by = "ns", top = options.top,
}

-- The pairs of ROWS in which most time was spent, the longest last; SUM: ns of all.
local function print_pairs(rows, sum)
  table.sort(rows, function(a, b) return a.ns < b.ns end)
  local first = options.top > 0 and math.max(1, #rows - options.top + 1) or 1
  for i = first, #rows do print_pair(rows[i].key, rows[i].ns) end
  up.printf("%s of waiting in %s of stacks, of which the %s above\n", text.time(sum), text.plural(#rows, "pair"),
    #rows == first and "longest is" or ("%d longest are"):format(#rows - first + 1))
end

up.at_exit(function()
  local rows, us, sum = {}, {}, 0
  for key, ns in spent:pairs() do
    rows[#rows + 1] = { comm = key[1], waker = key[3], n = times:get(key), ns = ns, stack = key[2], ended = key[4],
                        key = key }
    us[key], sum = math.floor(tonumber(ns) / 1000 + 0.5), sum + ns
  end
  if times:size() == 0 then
    up.printf("no wait of %s or more has ended\n", text.time(least))
  elseif not waits:data(rows) then
    print_pairs(rows, sum)
  end
  for _, line in ipairs(ongoing()) do up.printf("%s\n", line) end
  files.write(options, us, { title = "Waiting, and who ended it", unit = "us" })
end)
