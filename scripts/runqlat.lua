--[=[
runqlat: how long do threads wait for a CPU?

  uplua runqlat.lua [options] [-- PID ... or COMMAND]

measures the time from when a thread could run, since it was woken or another one was given its CPU, to when it runs,
and prints at the end how long that was: much, where there are more threads than CPUs.

  -p, --by-process       by process
  -H, --histogram        a histogram of each, too
  -i, --interval TIME    prints the times each TIME, too
  -n, --top N            the N that waited longest in all (default 20; 0: all)

A thread counts from the first time on that it leaves a CPU while it is traced.

  $ uplua --duration 10s runqlat.lua --by-process
--]=]
local up   = require "uplua"
local text = require "uplua.text"
local view = require "uplua.view"

local options = up.args {
  "runqlat.lua [options] [-- PID ... or COMMAND]",
  { "by-process,p",                          "by process" },
  { "histogram,H",                           "a histogram of each, too" },
  { "interval,i", "TIME", "duration", false, "print the times each TIME, too", least = "10ms" },
  { "top,n",      "N",    "integer",  20,    "the N that waited longest in all; 0: all" },
  arguments = 0,
}

local asleep = up.hash { max = 65536 } -- thread → its process
local ready  = up.hash { max = 65536 } -- thread → { since, pid, comm }
local waited = up.hdr(2, { unit = "ns" })

local function key(comm, pid) return 0 end
if options.by_process then function key(comm, pid) return { comm, pid } end end

-- The state of the thread that leaves the CPU: 0 where it could run. One that has ended does not come back: its number
-- is another's then.
local DEAD = 0x80 -- TASK_DEAD of include/linux/sched.h
local function state(e) return bit.band(e.args.prev_state, 0xff) end

up.raw_tracepoint("sched_switch", function(e)
  if e.tid ~= 0 then
    if state(e) == 0 then
      ready[e.tid] = { since = e.time, pid = e.pid }
    elseif state(e) ~= DEAD then
      asleep[e.tid] = e.pid
    end
  end
end)

-- Any process may wake a thread or leave the CPU to it.
up.raw_tracepoint("sched_wakeup", { all = true }, function(e)
  local tid = e.args.p.pid
  local pid = asleep[tid]
  if pid then
    ready[tid] = { since = e.time, pid = pid }
    asleep[tid] = nil
  end
end)

up.raw_tracepoint("sched_switch", { all = true }, function(e)
  local next = e.args.next
  local r = ready[next.pid]
  if r then
    waited[key(next.comm, r.pid)]:add(e.time - r.since)
    ready[next.pid] = nil
  end
  if state(e) == DEAD then
    asleep[e.tid], ready[e.tid] = nil, nil
  end
end)

local waits = view.new {
  options.by_process and { "comm", "Process" },
  options.by_process and { "pid", "PID", "number" },
  { "times", "Times", "count" },
  { "p50", "p50", "ns" }, { "p90", "p90", "ns" }, { "p99", "p99", "ns" }, { "p999", "p99.9", "ns" },
  { "max", "Longest", "ns" }, { "sum", "Total", "ns" },
  by = "sum", top = options.top,
}

up.report(options.interval, function()
  local rows = {}
  for k, h in waited:take():pairs() do
    local row = { times = h.count, max = h.max, sum = h.sum, histogram = h }
    for name, p in pairs { p50 = 50, p90 = 90, p99 = 99, p999 = 99.9 } do row[name] = h:percentile(p) end
    if options.by_process then row.comm, row.pid = k[1], k[2] end
    rows[#rows + 1] = row
  end
  for _, row in ipairs(waits:print(rows)) do
    if options.histogram then
      local who = row.comm and ("%s (pid %d)\n"):format(text.escape(row.comm), row.pid) or ""
      up.printf("\n%s%s\n", who, row.histogram)
    end
  end
end)
