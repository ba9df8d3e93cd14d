--[=[
argdist: which values does an expression take at a probe?

  uplua argdist.lua [options] SPEC [-- PID ... or COMMAND]

  -k, --key [NAME=]EXPR  counts the hits by the value of EXPR, a Lua expression of the event e, such as 'e.arg0 / 4096',
                         'e.comm', 'up.str(e.arg1)' (default: e.func), in a column NAME; may be repeated
  -v, --value [NAME=]EXPR
                         how EXPR's values are distributed: percentiles and a histogram, with --key of each key; in a
                         unit as NAME:bytes=EXPR or NAME:ns=EXPR
  -b, --by WHAT          by WHAT, too: process, thread, cgroup, container, cpu, or an expression of the event
  -s, --sum [NAME=]EXPR  a column with the sum of EXPR's values: 'bytes=e.arg2'; may be repeated
  -w, --where EXPR       only hits for which EXPR is true, such as 'e.arg0 > 4096'
  -r, --return           at the return of the function: e.ret and e.elapsed, and the arguments of the call
  -n, --top N            the N most frequent keys (default 20; 0: all)
  -i, --interval TIME    prints the counts each TIME, too

  $ uplua argdist.lua libc:malloc --key e.arg0 -- redis-server
  $ uplua argdist.lua syscall:read --return --value e.ret --key e.comm
--]=]
local up    = require "uplua"
local by    = require "uplua.by"
local specs = require "uplua.specs"
local text  = require "uplua.text"
local view  = require "uplua.view"

local options = up.args {
  "argdist.lua [options] SPEC [-- PID ... or COMMAND]",
  { "key,k",      "[NAME=]EXPR", "string", false, "count by the value of EXPR (default e.func)", several = true },
  { "value,v",    "[NAME=]EXPR", "string", false, "percentiles and a histogram of EXPR's values" },
  by.option, by.sum, specs.where,
  { "return,r",                                   "at the return: e.ret, e.elapsed" },
  { "top,n",      "N",    "integer",  20,         "the N most frequent keys; 0: all" },
  { "interval,i", "TIME", "duration", false,      "print the counts each TIME, too", least = "10ms" },
}
if #options ~= 1 then up.args.fail("one spec is expected, such as libc:malloc, not %d", #options) end

local AT_RETURN = "--return"
local keys = options.key
if #keys == 0 and not options.value then keys = { { "e.func", "func", "Function" } } end

local who = by.new(options.by, { keys = keys, at_return = AT_RETURN })
local sums = by.sums(options.sum, { at_return = AT_RETURN })
local value = options.value and by.value(options.value, { at_return = AT_RETURN })
local distribution = value and up.hdr(2, { unit = value.unit ~= "number" and value.unit or nil }) or up.count()

local key, add = who and who.key, sums.add
local function count(e, k) distribution[k]:inc() end
if value then
  local of = value.of
  function count(e, k) distribution[k]:add(of(e)) end
end
if not who then
  function key(e) return 0 end
end

specs.probe(options, { returns = options["return"], at_return = AT_RETURN }, function(e)
  local k = key(e)
  add(e, k)
  count(e, k)
end)

local unit = value and value.unit or "number"
local values = view.new {
  who and who.columns, { "hits", "Hits", "count" }, sums.columns,
  value and {
    { "p50", "p50", unit }, { "p95", "p95", unit }, { "p99", "p99", unit }, { "p999", "p99.9", unit },
    { "max", "Largest", unit }, { "histogram", "Values", "histogram" },
  } or {},
  by = "hits", top = options.top,
}

local PERCENTILES = { p50 = 50, p95 = 95, p99 = 99, p999 = 99.9 }

-- The row of the key K, whose hits are COUNTED: a number, or a histogram.
local function row_of(k, counted)
  local row = sums:fill({ hits = counted }, k)
  if value then
    row.hits, row.max, row.histogram, row.title = counted.count, counted.max, counted, who and who:text(k)
    row.behind = counted
    for name, p in pairs(PERCENTILES) do row[name] = counted:percentile(p) end
  end
  return who and who:fill(row, k) or row
end

up.report(options.interval, function()
  local rows, taken = {}, distribution:take()
  sums:take()
  for k, counted in taken:pairs() do rows[#rows + 1] = row_of(k, counted) end
  if values:data(rows) then return end
  local shown = values:print(rows)
  for _, row in ipairs(value and shown or {}) do
    up.printf("\n%s%s\n", row.title and text.escape(row.title) .. "\n" or "", row.histogram)
  end
end, { tables = true })

up.at_exit(function()
  local net = up.probe_cost()
  if net then up.printf("Times of functions are %s.\n", net) end
end)
