--[=[
funclatency: how long do functions take?

  uplua funclatency.lua [options] SPEC ... [-- PID ... or COMMAND]

measures each call of the functions, from entry to return, and prints at the end the number of calls and the
percentiles, those first in which most time was spent. Times are of the clock: what a function waits for counts. A
function's time includes that of those that it calls. What probes take is taken off: the function's own, and those of
functions that it calls. Where the latter are more than half, the report says so first.

  -c, --by-caller        by function and caller
  -b, --by WHAT          by WHAT and function: process, thread, cgroup, container, cpu, or an expression of the event
                         such as e.uid
  -p, --by-process       as --by process
  -k, --key [NAME=]EXPR  by the value of EXPR, too, an expression of the event e, in a column NAME; may be repeated
  -s, --sum [NAME=]EXPR  a column with the sum of EXPR's values: 'bytes=e.arg2'; may be repeated
  -w, --where EXPR       only hits for which EXPR is true: 'e.arg0 > 4096'; behind a spec, of that one alone
  -H, --histogram        a histogram for each, too
  -i, --interval TIME    prints the times each TIME, too
  -n, --top N            the N in which most time was spent (default 20; 0: all)

A spec is libc:malloc, 'libc:str*', syscall:openat, kprobe:vfs_read. Calls that began before are not counted.

  $ uplua funclatency.lua 'libc:f*sync' -- postgres
--]=]
local up    = require "uplua"
local by    = require "uplua.by"
local specs = require "uplua.specs"
local text  = require "uplua.text"
local view  = require "uplua.view"

local options = up.args {
  "funclatency.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "by-caller,c",                            "by function and caller" },
  by.option,
  { "by-process,p",                           "as --by process" },
  by.key, by.sum, specs.where,
  { "histogram,H",                            "a histogram for each, too" },
  { "interval,i",  "TIME", "duration", false, "print the times each TIME, too", least = "10ms" },
  { "top,n",       "N",    "integer",  20,    "the N in which most time was spent; 0: all" },
}
if #options == 0 then up.args.fail "which functions? Give specs, such as libc:malloc" end

local took = up.hdr(2, { unit = "ns" })
local off = up.sum { unit = "ns" } -- what inner probes took

local who = by.new(options.by or options.by_process and "process", { keys = options.key })
local sums = by.sums(options.sum)
local function whose(e) return 0 end
if who then whose = who.key end
local function caller(e) return 0 end
if options.by_caller then function caller(e) return e:ustack(1) end end

local several = specs.ambiguous(options)

local add = sums.add
local function key(e) return e.func end
if several then function key(e) return { e.func, e.probe } end end
if who or options.by_caller then function key(e) return { e.func, e.probe, whose(e), caller(e) } end end

for _, spec in ipairs(options) do
  if spec == "syscall:*" then
    up.args.fail "syscall:'*' is one probe of all calls, which does not know their names; syscalls.lua tells them apart"
  end
end
specs.probe(options, { returns = true }, function(e)
  local k = key(e)
  add(e, k)
  took[k]:add(e.elapsed)
  off[k]:add(e.taken_off)
end)

-- Below what a function's own probes are known to take off, no time can be told from another.
local function time(field, title) return { field, title, "ns", zero = "< 100 ns" } end

local function columns(inner)
  return view.new {
    { "func", "Function" },
    options.by_caller and { "caller", "Called by" },
    who and who.columns,
    { "calls", "Calls", "count" },
    time("p50", "p50"), time("p90", "p90"), time("p99", "p99"),
    time("p999", "p99.9"), time("p9999", "p99.99"), time("max", "Longest"),
    time("sum", "Total"), inner and { "error", "±", "ns", zero = "" },
    view.is_data() and { "taken_off", "Taken off", "ns" },
    sums.columns, options.histogram and { "histogram", "Histogram", "histogram" },
    by = "sum", top = options.top,
  }
end
local latencies, with_error = columns(false), columns(true)

-- Of what inner probes took: they are measured on functions that do nothing, on a CPU that has it easier or harder; and
-- where the measurements differ by more, on a busy machine, it is that.
local UNKNOWN = 0.2

-- The part of what inner probes took that is not known; and how far a call's own cost may be from what is taken off, in
-- ns.
local function uncertainty()
  local part, own = UNKNOWN, 0
  local net, costs = up.probe_cost() -- nil and the reason where nothing is measured
  for _, cost in ipairs(net and costs or {}) do
    local off = math.max(cost.high - cost.ns, cost.ns - cost.low)
    if cost.ns > 0 then part = math.max(part, off / cost.ns) end
    own = math.max(own, off)
  end
  return part, own
end

-- Says of which of ROWS more than half of the time went into probes of functions that they call, and what to do.
-- Returns whether there are any.
local function explain_inner(rows)
  local most, names, count, alone = nil, {}, 0, true
  for _, row in ipairs(rows) do
    alone = alone and row.func == rows[1].func
    if row.taken_off > row.sum then
      if not names[row.func] then names[row.func], count = true, count + 1 end
      if not most or row.taken_off > most.taken_off then most = row end
    end
  end
  if not most then return false end
  local name = text.escape(most.func)
  local others = count > 1 and (", and most of the time of %s"):format(text.plural(count - 1, "other function")) or ""
  local advice = alone and "" or ("; for its own time probe %s alone, or sample it: profile.lua"):format(name)
  up.printf("Probes of the calls %swithin %s took %s of its %s%s.\nThat is taken off, as far as it is known (±)%s.\n\n",
    alone and "of itself " or "", name, text.time(most.taken_off), text.time(most.taken_off + most.sum), others, advice)
  return true
end

-- The first line of a stack of one frame.
local function caller_of(stack) return tostring(stack):match "%s*([^\n]*)" end

up.report(options.interval, function()
  local rows = {}
  local taken = took:take()
  local inner = off:take()
  sums:take()
  local part, own = uncertainty()
  for key, h in taken:pairs() do
    local row = sums:fill({ func = key, calls = h.count, max = h.max, sum = h.sum, histogram = h, behind = h }, key)
    row.taken_off = tonumber(inner[key] or 0)
    row.error = row.taken_off * part + tonumber(h.count) * own
    for name, p in pairs { p50 = 50, p90 = 90, p99 = 99, p999 = 99.9, p9999 = 99.99 } do row[name] = h:percentile(p) end
    if several or who or options.by_caller then row.func, row.probe = key[1], key[2] end
    if who then
      who:fill(row, key[3])
      row.who = who:text(key[3])
    end
    if options.by_caller then row.caller = caller_of(key[4]) end
    rows[#rows + 1] = row
  end
  if several then specs.name_apart(rows, options) end
  if latencies:data(rows) then return end
  for _, row in ipairs((explain_inner(rows) and with_error or latencies):print(rows)) do
    if options.histogram then
      local where = (row.caller and " from " .. row.caller or "") .. (row.who and " in " .. text.escape(row.who) or "")
      up.printf("\n%s%s\n%s\n", row.func, where, row.histogram)
    end
  end
end, { tables = true })

up.at_exit(function()
  local net = up.probe_cost()
  if net then up.printf("Times of functions are %s.\n", net) end
end)
