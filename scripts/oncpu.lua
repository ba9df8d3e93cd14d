--[=[
oncpu: who was on which CPU, for how long, and with which priority?

  uplua oncpu.lua [options] [-- PID ... or COMMAND]

measures each time that a thread runs, from the switch to it to the switch away from it, and prints at the end for each
thread how often and how long it ran, with which priority, on how many CPUs, and how often it came to another one.

      --by-cpu           each CPU apart
  -m, --min TIME         prints each time that is no shorter, as it ends
  -i, --interval TIME    prints the times each TIME, too
  -n, --top N            the N that ran longest (default 20; 0: all)

A priority below 100 is one of real time; 120 is that of nice 0. A thread counts from the next time on that it comes to
a CPU. The time in which interrupts had the CPU is part of the time of the thread.

  $ uplua --duration 10s oncpu.lua --by-cpu -- 4242
--]=]
local up   = require "uplua"
local view = require "uplua.view"

local options = up.args {
  "oncpu.lua [options] [-- PID ... or COMMAND]",
  { "by-cpu",                                "each CPU apart" },
  { "min,m",      "TIME", "duration", false, "print each time that is no shorter, as it ends" },
  { "interval,i", "TIME", "duration", false, "print the times each TIME, too", least = "10ms" },
  { "top,n",      "N",    "integer",  20,    "the N that ran longest; 0: all" },
  arguments = 0,
}

local running = up.lru_hash { max = 65536 } -- thread → { at, prio } of the last switch to it
local before  = up.lru_hash { max = 65536 } -- thread of the target → the CPU that it ran on
local ran     = up.hdr(2, { unit = "ns", max = 262144 })
local moved   = up.count { max = 65536 }
local long    = up.ring()

local by_cpu, least = options.by_cpu, options.min or 2 ^ 53
local function cpu_of(e) return -1 end
if by_cpu then function cpu_of(e) return e.cpu end end

up.raw_tracepoint("sched_switch", { all = true }, function(e)
  local next = e.args.next
  if next.pid ~= 0 then running[next.pid] = { at = e.time, prio = next.prio } end
end)

-- The thread that leaves is the one that the kernel works for.
up.raw_tracepoint("sched_switch", function(e)
  local r = running[e.tid]
  if e.tid ~= 0 and r then
    local took, prio = e.time - r.at, r.prio
    ran[{ e.tid, e.pid, cpu_of(e), e.comm, prio }]:add(took)
    local last = before[e.tid]
    if last and last ~= e.cpu then moved[{ e.tid, e.comm }]:inc() end
    before[e.tid] = e.cpu
    if took >= least then
      long:emit { at = e.time, took = took, cpu = e.cpu, comm = e.comm, tid = e.tid, prio = prio, last = last or e.cpu }
    end
  end
end)

if options.min then
  local lines = view.stream {
    { "at", "Until", "clock" }, { "took", "Ran", "ns", 9 }, { "cpu", "CPU", "number", 4 },
    { "prio", "Prio", "number", 5 }, { "tid", "TID", "number", 8 }, { "comm", "Thread", "text", 16 },
    { "from", "Came" },
  }
  lines:titles()
  long:each(function(r)
    lines:print { at = r.at, took = r.took, cpu = r.cpu, prio = r.prio, tid = r.tid, comm = r.comm,
                  from = r.last ~= r.cpu and ("from CPU %d"):format(r.last) or nil }
  end)
end

local threads = view.new {
  { "comm", "Thread" }, { "pid", "PID", "number" }, { "tid", "TID", "number" },
  options.by_cpu and { "cpu", "CPU", "number" }, { "prio", "Prio", "number" },
  { "times", "Times", "count" }, { "p50", "p50", "ns" }, { "p99", "p99", "ns" }, { "max", "Longest", "ns" },
  { "sum", "Total", "ns" }, not options.by_cpu and { "moved", "Moved", "count" }, by = "sum", top = options.top,
}

up.report(options.interval, function()
  local rows, moves = {}, moved:take()
  for key, h in ran:take():pairs() do
    rows[#rows + 1] = {
      tid = key[1], pid = key[2], cpu = options.by_cpu and key[3] or nil, comm = key[4], prio = key[5], times = h.count,
      p50 = h:percentile(50), p99 = h:percentile(99), max = h.max, sum = h.sum,
      moved = not options.by_cpu and (moves:get { key[1], key[4] } or 0) or nil,
    }
  end
  threads:print(rows)
end)
