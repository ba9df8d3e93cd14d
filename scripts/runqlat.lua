--[=[
runqlat: how long do threads wait for a CPU?

  uplua runqlat.lua [options] [-- PID ... or COMMAND]

measures the time from when a thread could run, since it was woken or another one was given its CPU, to when it runs,
and prints at the end how long that was: much, where there are more threads than CPUs.

  -b, --by WHAT          by WHAT: process, thread, cgroup, container, cpu, or an expression of the event
                         such as e.uid
  -p, --by-process       as --by process
  -k, --key [NAME=]EXPR  by the value of EXPR, too, an expression of the event e, in a column NAME; may be repeated
  -s, --sum [NAME=]EXPR  a column with the sum of EXPR's values, of the event e at the beginning of each wait: where the
                         thread leaves the CPU; may be repeated
  -w, --where EXPR       only waits for which EXPR is true, of that event: 'e.cpu == 0'
  -H, --histogram        a histogram of each, too
  -i, --interval TIME    prints the times each TIME, too
  -n, --top N            the N that waited longest in all (default 20; 0: all)

A thread counts from the first time on that it leaves a CPU while it is traced.

  $ uplua --duration 10s runqlat.lua --by-process
--]=]
local up    = require "uplua"
local by    = require "uplua.by"
local sched = require "uplua.sched"
local text  = require "uplua.text"
local view  = require "uplua.view"

local options = up.args {
  "runqlat.lua [options] [-- PID ... or COMMAND]",
  by.option,
  { "by-process,p",                          "as --by process" },
  by.key, by.sum,
  { "where,w", "EXPR", "string", false,      "only waits for which EXPR is true" },
  { "histogram,H",                           "a histogram of each, too" },
  { "interval,i", "TIME", "duration", false, "print the times each TIME, too", least = "10ms" },
  { "top,n",      "N",    "integer",  20,    "the N that waited longest in all; 0: all" },
  arguments = 0,
}

local waited = up.hdr(2, { unit = "ns" })

-- Whose the wait is, is known when the thread leaves a CPU, but for the CPU that it comes to.
local of_cpu = options.by == "cpu"
local by_whom = not of_cpu and options.by or options.by_process and "process"
local who, cpu = by.new(by_whom, { keys = options.key }), of_cpu and by.new "cpu"
local sums = by.sums(options.sum)
local values, put = sums.values, sums.put
local function whose(e) return 0 end
if who then whose = who.key end
local function key(e, left) return left end
if cpu and who then function key(e, left) return { left, e.cpu } end end
if cpu and not who then function key(e, left) return e.cpu end end

-- Of --cpu is the CPU that a thread comes to; it waits for that after it was on another.
local cpus = up.target().cpus
local function counts(e) return true end
if cpus then counts = up.expression("e.cpu == " .. table.concat(cpus, " or e.cpu == "), { kind = "condition" }) end

local where = up.expression(options.where or "true", { name = "--where", kind = "condition" })

sched.waits {
  where = where,
  whose = function(e) return { who = whose(e), values = values(e) } end,
  done = function(e, left, took)
    if counts(e) then
      local k = key(e, left.who)
      put(left.values, k)
      waited[k]:add(took)
    end
  end,
}

local waits = view.new {
  cpu and cpu.columns, who and who.columns,
  { "times", "Times", "count" },
  { "p50", "p50", "ns" }, { "p90", "p90", "ns" }, { "p99", "p99", "ns" }, { "p999", "p99.9", "ns" },
  { "max", "Longest", "ns" }, { "sum", "Total", "ns" }, sums.columns,
  options.histogram and { "histogram", "Histogram", "histogram" },
  by = "sum", top = options.top,
}

up.report(options.interval, function()
  local rows, taken = {}, waited:take()
  sums:take()
  for k, h in taken:pairs() do
    local row = { times = h.count, max = h.max, sum = h.sum, histogram = h, behind = h }
    for name, p in pairs { p50 = 50, p90 = 90, p99 = 99, p999 = 99.9 } do row[name] = h:percentile(p) end
    local words = {}
    if cpu then
      local on = who and k[2] or k
      cpu:fill(row, on)
      words[1] = cpu:text(on)
    end
    if who then
      local left = cpu and k[1] or k
      who:fill(row, left)
      words[#words + 1] = who:text(left)
    end
    sums:fill(row, k)
    row.who = #words > 0 and table.concat(words, ", ") or nil
    rows[#rows + 1] = row
  end
  if waits:data(rows) then return end
  for _, row in ipairs(waits:print(rows)) do
    if options.histogram then
      up.printf("\n%s%s\n", row.who and text.escape(row.who) .. "\n" or "", row.histogram)
    end
  end
end, { tables = true })
