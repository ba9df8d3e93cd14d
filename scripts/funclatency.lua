--[=[
funclatency: how long do functions take?

  uplua funclatency.lua [options] SPEC ... [-- PID ... or COMMAND]

measures each call of the functions, from entry to return, and prints at the end the number of calls and the
percentiles, those first in which most time was spent. Times are of the clock: what a function waits for counts. A
function's time includes that of those that it calls, and of their probes; what its own take is taken off, and told at
the end.

  -c, --by-caller        by function and caller
  -p, --by-process       by process and function
  -H, --histogram        a histogram for each, too
  -i, --interval TIME    prints the times each TIME, too
  -n, --top N            the N in which most time was spent (default 20; 0: all)

A spec is libc:malloc, 'libc:str*', syscall:openat, kprobe:vfs_read. Calls that began before are not counted.

  $ uplua funclatency.lua 'libc:f*sync' -- postgres
--]=]
local up    = require "uplua"
local specs = require "uplua.specs"
local text  = require "uplua.text"
local view  = require "uplua.view"

local options = up.args {
  "funclatency.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "by-caller,c",                            "by function and caller" },
  { "by-process,p",                           "by process and function" },
  { "histogram,H",                            "a histogram for each, too" },
  { "interval,i",  "TIME", "duration", false, "print the times each TIME, too", least = "10ms" },
  { "top,n",       "N",    "integer",  20,    "the N in which most time was spent; 0: all" },
}
if #options == 0 then up.args.fail "which functions? Give specs, such as libc:malloc" end
if options.by_caller and options.by_process then up.args.fail "--by-caller and --by-process: choose one" end

local took = up.hdr(2, { unit = "ns" })

local several = specs.ambiguous(options)

local function measure(e) took[e.func]:add(e.elapsed) end
if options.by_caller then function measure(e) took[{ e.func, e:ustack(1) }]:add(e.elapsed) end end
if options.by_process then function measure(e) took[{ e.func, e.comm, e.pid }]:add(e.elapsed) end end
if several then function measure(e) took[{ e.func, e.probe }]:add(e.elapsed) end end
if several and options.by_caller then function measure(e) took[{ e.func, e:ustack(1), e.probe }]:add(e.elapsed) end end
if several and options.by_process then
  function measure(e) took[{ e.func, e.comm, e.pid, e.probe }]:add(e.elapsed) end
end

for _, spec in ipairs(options) do
  if spec == "syscall:*" then
    up.args.fail "syscall:'*' is one probe of all calls, which does not know their names; syscalls.lua tells them apart"
  end
end
up.retprobe(options, measure)

local latencies = view.new {
  { "func", "Function" },
  options.by_caller and { "caller", "Called by" },
  options.by_process and { "comm", "Process" },
  options.by_process and { "pid", "PID", "number" },
  { "calls", "Calls", "count" },
  { "p50", "p50", "ns" }, { "p90", "p90", "ns" }, { "p99", "p99", "ns" },
  { "p999", "p99.9", "ns" }, { "p9999", "p99.99", "ns" }, { "max", "Longest", "ns" },
  { "sum", "Total", "ns" },
  by = "sum", top = options.top,
}

-- The first line of a stack of one frame.
local function caller_of(stack) return tostring(stack):match "%s*([^\n]*)" end

up.report(options.interval, function()
  local rows = {}
  for key, h in took:take():pairs() do
    local row = { func = key, calls = h.count, max = h.max, sum = h.sum, histogram = h }
    for name, p in pairs { p50 = 50, p90 = 90, p99 = 99, p999 = 99.9, p9999 = 99.99 } do row[name] = h:percentile(p) end
    if options.by_caller then row.func, row.caller = key[1], caller_of(key[2]) end
    if options.by_process then row.func, row.comm, row.pid = key[1], key[2], key[3] end
    if several then row.func, row.probe = key[1], key[options.by_process and 4 or options.by_caller and 3 or 2] end
    rows[#rows + 1] = row
  end
  if several then specs.name_apart(rows, options) end
  for _, row in ipairs(latencies:print(rows)) do
    if options.histogram then
      local where = row.caller and " from " .. row.caller or row.comm and " in " .. text.escape(row.comm) or ""
      up.printf("\n%s%s\n%s\n", row.func, where, row.histogram)
    end
  end
end)

up.at_exit(function()
  local net = up.probe_cost()
  if net then up.printf("Times of functions are %s.\n", net) end
end)
