--[=[
softirqs: how much time goes to interrupts, by kind?

  uplua softirqs.lua [options] [-- PID ... or COMMAND]

measures softirqs, the work that the kernel puts off behind an interrupt (packets, timers, blocks that were read, RCU),
handlers of devices' interrupts, and the CPU's own interrupts: timer, calls between CPUs. It prints at the end for each
how often it ran and for how long, the most time first. With a target: what interrupts took of the time of its threads.

  -i, --interval TIME    prints the times each TIME, too
      --by-cpu           each CPU apart
  -H, --histogram        a histogram of each, too
  -n, --top N            so many (default 0: all)

A softirq that a thread of the kernel runs (ksoftirqd) counts as one. What ran when tracing began is not counted.

  $ uplua --duration 10s softirqs.lua
--]=]
local up   = require "uplua"
local text = require "uplua.text"
local view = require "uplua.view"

local options = up.args {
  "softirqs.lua [options] [-- PID ... or COMMAND]",
  { "interval,i", "TIME", "duration", false, "print the times each TIME, too", least = "10ms" },
  { "by-cpu",                                "each CPU apart" },
  { "histogram,H",                           "a histogram of each, too" },
  { "top,n",      "N",    "integer",  0,     "so many; 0: all" },
  arguments = 0,
}

-- include/linux/interrupt.h
local SOFTIRQS = { [0] = "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU" }
-- Interrupts that the CPU itself has; those of other architectures have other names.
local VECTORS = { "local_timer", "reschedule", "call_function", "call_function_single", "irq_work" }
local SOFT, HARD, OWN = 1, 2, 3

-- One of a kind runs on a CPU until it ends, but for softirqs of other numbers. Another kind may interrupt it, and is
-- part of its time then. An array and not a hash: it needs no memory in an interrupt.
local MOST_CPUS, SLOTS, DEVICE, VECTOR = 4096, 32, 15, 16
local since = up.array { max = MOST_CPUS * SLOTS } -- CPU × 32 + number of a softirq, or one of these → time
local took  = up.hist { unit = "ns", max = 16384 }

local by_cpu = options.by_cpu
local function cpu_of(e) return -1 end
if by_cpu then function cpu_of(e) return e.cpu end end

local function begins(e, slot) since[e.cpu * SLOTS + slot] = e.time end

-- Ends what began as SLOT, NUMBER of KIND.
local function ends(e, slot, kind, number, name)
  local at = since[e.cpu * SLOTS + slot] or 0
  if at ~= 0 then
    took[{ kind, number, cpu_of(e), name }]:add(e.time - at)
    since[e.cpu * SLOTS + slot] = 0
  end
end

up.raw_tracepoint("softirq_entry", function(e) begins(e, e.args.vec_nr) end)
up.raw_tracepoint("softirq_exit", function(e) ends(e, e.args.vec_nr, SOFT, e.args.vec_nr, "") end)
up.raw_tracepoint("irq_handler_entry", function(e) begins(e, DEVICE) end)
up.raw_tracepoint("irq_handler_exit", function(e)
  ends(e, DEVICE, HARD, e.args.irq, up.kstr(e.args.action.name, 64) or "")
end)

for i, name in ipairs(VECTORS) do
  if #up.list("raw_tracepoint:" .. name .. "_entry") > 0 then
    up.raw_tracepoint(name .. "_entry", function(e) begins(e, VECTOR + i) end)
    up.raw_tracepoint(name .. "_exit", function(e) ends(e, VECTOR + i, OWN, i, "") end)
  end
end

local function kind_of(key)
  if key[1] == SOFT then return "softirq", SOFTIRQS[tonumber(key[2])] or tostring(key[2]) end
  if key[1] == HARD then return "hardirq", ("%s (%d)"):format(key[4], key[2]) end
  return "hardirq", (VECTORS[tonumber(key[2])]:gsub("_", " "))
end

local times = view.new {
  options.by_cpu and { "cpu", "CPU", "number" }, { "kind", "Kind" }, { "name", "What" }, { "n", "Times", "count" },
  { "p50", "p50", "ns" }, { "p99", "p99", "ns" }, { "max", "Longest", "ns" }, { "sum", "Total", "ns" },
  options.histogram and { "histogram", "Histogram", "histogram" }, by = "sum", top = options.top,
}

up.report(options.interval, function()
  local rows = {}
  for key, h in took:take():pairs() do
    local kind, name = kind_of(key)
    rows[#rows + 1] = { cpu = options.by_cpu and key[3] or nil, kind = kind, name = name, n = h.count, max = h.max,
                        sum = h.sum, p50 = h:percentile(50), p99 = h:percentile(99), histogram = h }
  end
  for _, row in ipairs(times:print(rows)) do
    if options.histogram then up.printf("\n%s %s\n%s\n", row.kind, text.escape(row.name), row.histogram) end
  end
end)
