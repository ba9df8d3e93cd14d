--[=[
numdist: how is a number distributed, interval by interval?

  uplua numdist.lua [options] --value EXPR SPEC ... [-- PID ... or COMMAND]

evaluates EXPR at each hit and prints how many values there were, and their minimum, average, percentiles and maximum:
of each interval, or at the end of all.

  -v, --value [NAME=]EXPR   the number, a Lua expression of the event e: e.elapsed (with --return), 'size:bytes=e.arg0',
                            'e.args.bytes_alloc'
  -k, --key [NAME=]EXPR     each value of EXPR apart; may be given several times
  -b, --by WHAT             by WHAT: process, thread, cgroup, container, cpu, or an expression of the event
  -w, --where EXPR          only hits for which EXPR is true; behind a spec, of that one alone
  -r, --return              at the return of functions and system calls: e.ret, e.elapsed, and the arguments
  -t, --than NUMBER         prints each hit whose value is at least NUMBER
  -i, --interval TIME       prints each TIME what was in it (default: all at the end)
      --heat                draws the values by time at the end, on the terminal
      --svg FILE            … as a file, with the numbers under the pointer
  -n, --top N               the N keys with most values (default 20; 0: all)

  $ uplua --duration 10s numdist.lua --return --value e.elapsed --heat syscall:read -- redis-server
  $ uplua numdist.lua --value size:bytes=e.args.bytes_alloc --key e.comm --interval 1s raw_tracepoint:kmalloc
--]=]
local up    = require "uplua"
local by    = require "uplua.by"
local heat  = require "uplua.heat"
local specs = require "uplua.specs"
local view  = require "uplua.view"

local options = up.args {
  "numdist.lua [options] --value EXPR SPEC ... [-- PID ... or COMMAND]",
  { "value,v",    "[NAME=]EXPR", "string",   false, "the number, an expression of e" },
  by.key, by.option, specs.where,
  { "return,r",                                     "at the return: e.ret, e.elapsed" },
  { "than,t",     "NUMBER",      "number",   false, "print each hit whose value is at least NUMBER" },
  { "interval,i", "TIME",        "duration", false, "print each TIME what was in it", least = "10ms" },
  { "heat",                                         "draw the values by time at the end" },
  { "svg",        "FILE",        "string",   false, "draw them as a file" },
  { "top,n",      "N",           "integer",  20,    "the N keys with most values; 0: all" },
}
if #options == 0 then up.args.fail "at which probes? Give specs, such as syscall:read" end
if not options.value then up.args.fail "which number? Give --value, such as --value e.arg0" end

local AT_RETURN = "--return"
local who   = by.new(options.by, { keys = options.key, at_return = AT_RETURN })
local value = by.value(options.value, { at_return = AT_RETURN })
local unit  = value.unit or options.value:find "e%.elapsed$" and "ns" or "number"
local scale = unit ~= "number" and unit or nil

local values  = up.hdr(2, { unit = scale })
local picture = (options.heat or options.svg) and
  heat.new { unit = scale, title = options.value, every = options.interval or "1s" }
local large = options.than and up.ring { size = "16M" }

local function key(e) return 0 end
if who then key = who.key end
local function draw(x) end
if picture then function draw(x) picture:add(x) end end
local function tell(e, x) end
if large then
  local than = math.ceil(options.than)
  function tell(e, x)
    if x >= than then large:emit { at = e.time, value = x, tid = e.tid, comm = e.comm, func = e.func } end
  end
end

local of = value.of
specs.probe(options, { returns = options["return"], at_return = AT_RETURN }, function(e)
  local x = of(e)
  values[key(e)]:add(x)
  draw(x)
  tell(e, x)
end)

if large then
  local lines = view.stream {
    { "at", "Time", "clock" }, { "value", value.name, unit, 12 }, { "tid", "TID", "number", 8 },
    { "comm", "Process", "text", 16 }, { "func", "Function" },
  }
  lines:titles()
  large:each(function(r)
    lines:print { at = r.at, value = r.value, tid = r.tid, comm = r.comm, func = r.func }
  end)
end

local shown = view.new {
  who and who.columns, { "count", "Values", "count" }, { "min", "Min", unit }, { "avg", "Avg", unit },
  { "p50", "p50", unit }, { "p95", "p95", unit }, { "p99", "p99", unit }, { "max", "Max", unit },
  by = "count", top = options.top,
}

up.report(options.interval, function()
  local rows = {}
  for k, h in values:take():pairs() do
    local row = { count = h.count, min = h.min, avg = math.floor(h.avg + 0.5), p50 = h:percentile(50),
                  p95 = h:percentile(95), p99 = h:percentile(99), max = h.max }
    rows[#rows + 1] = who and who:fill(row, k) or row
  end
  shown:print(rows)
end)

up.at_exit(function()
  if options.heat then
    up.printf("\n")
    picture:print()
  end
  if options.svg then picture:write(options.svg) end
  local net = up.probe_cost()
  if net then up.printf("Times of functions are %s.\n", net) end
end)
