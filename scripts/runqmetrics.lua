--[=[
runqmetrics: how long do threads wait for a CPU, by cgroup? As metrics.

  uplua --serve ADDRESS runqmetrics.lua [options] [-- PID ... or COMMAND]

measures the time from when a thread could run, since it was woken or another one was given its CPU, to when it runs.
Without --serve the same is printed at the end.

  -b, --by WHAT        by WHAT: cgroup (default), container, process, thread, cpu, or an expression of the event
                       such as e.uid
  -i, --interval TIME  prints a report each TIME, too
      --ttl TIME       whose threads have not waited for so long is no series any more (default 1h)

  runq_wait_seconds    histogram: how long threads have waited

A thread counts from the first time on that it leaves a CPU while it is traced.

  $ uplua --serve 9435 runqmetrics.lua --by container
--]=]
local up    = require "uplua"
local by    = require "uplua.by"
local sched = require "uplua.sched"
local view  = require "uplua.view"

local options = up.args {
  "runqmetrics.lua [options] [-- PID ... or COMMAND]",
  { "by,b",       "WHAT", "string",   "cgroup", "by cgroup, container, process, thread, cpu or an expression of e" },
  { "interval,i", "TIME", "duration", false,    "print a report each TIME, too", least = "10ms" },
  { "ttl",        "TIME", "duration", 3.6e12,   "whose threads have not waited for so long is no series any more",
    least = "1s" },
  arguments = 0,
}

local waited = up.hist { unit = "ns" }
local who = by.new(options.by)

sched.waits {
  whose = who.key,
  done = function(_, left, took) waited[left]:add(took) end,
}

-- Columns of the report are labels: their names are what Prometheus takes.
local labels, fields = {}, {}
for i, column in ipairs(who.columns) do
  fields[i] = column[1]
  labels[i] = column[1]
end
up.metric("runq_wait", waited, {
  labels = labels, ttl = options.ttl, help = "how long threads that could run have waited for a CPU",
  keys = function(key)
    local row, parts = who:fill({}, key), {}
    for i, field in ipairs(fields) do parts[i] = row[field] end
    return parts
  end,
})

local waits = view.new {
  who.columns, { "times", "Times", "count" }, { "p50", "p50", "ns" }, { "p99", "p99", "ns" },
  { "max", "Longest", "ns" }, { "sum", "Total", "ns" }, by = "sum",
}

up.report(options.interval, function()
  local rows = {}
  for key, h in waited:pairs() do
    rows[#rows + 1] = who:fill({
      times = h.count, p50 = h:percentile(50), p99 = h:percentile(99), max = h.max, sum = h.sum,
    }, key)
  end
  waits:print(rows)
end)
