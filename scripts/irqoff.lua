--[=[
irqoff: where does the kernel keep a CPU from its timer?

  uplua irqoff.lua [options] [-- PID ... or COMMAND]

Timers of a CPU run late where interrupts were off when they were due, or the CPU itself stood still. It prints a line
for each that was at least --than late, with what was running then, and at the end by how much they were late in all. So
that one is due often, it has one of its own on each CPU.

  -t, --than TIME        from which lateness on (default 100us)
      --period TIME      how often its own timers run (default 1ms)
  -S, --stack            with the kernel's stack: where interrupts were let in again
  -n, --top N            the N stacks that were late for longest, at the end (default 10; 0: all)

What it cannot see: the time from when interrupts went off to when a timer was due, which is up to --period: a lateness
is never more than the time that they were off, and where they were off for less than --period, it may be unseen. A
virtual machine that gets no CPU of its host's is late, too, and so is a CPU that wakes from a deep sleep. With a
target, only what was late while its threads ran counts.

  $ uplua --duration 10s irqoff.lua --than 500us --stack
--]=]
local up     = require "uplua"
local stacks = require "uplua.stacks"
local text   = require "uplua.text"
local view   = require "uplua.view"

local options = up.args {
  "irqoff.lua [options] [-- PID ... or COMMAND]",
  { "than,t",   "TIME", "duration", "100us", "from which lateness on" },
  { "period",   "TIME", "duration", "1ms",   "how often its own timers run", least = "100us", most = "1s" },
  { "stack,S",                               "with the kernel's stack" },
  { "top,n",    "N",    "integer",  10,      "the N stacks that were late for longest; 0: all" },
  arguments = 0,
}

local lateness, spent, times = up.hdr(2, { unit = "ns" }), up.sum(), up.count()
local looked = up.count()
local ring   = up.ring()

up.profile(math.floor(1e9 / options.period + 0.5), function() looked:inc() end)

-- Both times are by the timer's clock. Timers that are for softirqs wait for these, too.
local than = options.than
up.raw_tracepoint("hrtimer_expire_entry", function(e)
  local timer = e.args.hrtimer
  local late = e.args.now[0] - timer.node.expires
  if timer.is_soft == 0 and late > 0 then
    lateness:add(late)
    if late >= than then
      local stack = e:kstack()
      spent[stack]:add(late)
      times[stack]:inc()
      ring:emit { at = e.time, late = late, cpu = e.cpu, tid = e.tid, comm = e.comm, stack = stack }
    end
  end
end)

local lines = view.stream {
  { "at", "Time", "clock" }, { "late", "Late", "ns", 9 }, { "cpu", "CPU", "number", 4 }, { "tid", "TID", "number", 8 },
  { "comm", "Running" },
}
lines:titles()
ring:each(function(r)
  lines:print { at = r.at, late = r.late, cpu = r.cpu, tid = r.tid, comm = r.tid == 0 and "idle" or r.comm,
                stack = options.stack and r.stack or nil }
end)

up.at_exit(function()
  local rows, sum = stacks.rows(spent)
  local often = {}
  for _, row in ipairs((stacks.rows(times))) do often[row.id] = row.number end
  local shown = stacks.print(rows, options.top, function(row)
    return ("%12s  %s"):format(text.time(row.number), text.plural(often[row.id] or 0, "time"))
  end)
  up.printf("late by %s or more: %s in all, in %s\n", text.time(than), text.time(sum),
    stacks.told(rows, shown, "longest"))
  local h = lateness:get()
  if h.count > 0 then
    up.printf("all %s timers: late by p50 %s, p99 %s, longest %s; its own ran %s\n", text.thousands(h.count),
      text.time(h:percentile(50)), text.time(h:percentile(99)), text.time(h.max), text.plural(looked:get(), "time"))
  end
end)
