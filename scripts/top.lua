--[=[
top: who does it most, right now?

  uplua top.lua [options] SPEC ... [-- PID ... or COMMAND]

prints each second who hit the probes most often, in place on a terminal. What comes behind the last whole second is
left out, unless there is no whole one.

  -k, --key EXPR         rows by the value of EXPR, a Lua expression of the event e, such as 'e.func' or
                         'up.str(e.arg0)' (default: the process, e.comm and e.pid)
  -s, --sum EXPR         a column with the sum of EXPR's values, such as e.arg2; rows are sorted by it
  -r, --return           at the return of the function: e.ret and e.elapsed, and the arguments of the call
  -n, --top N            so many rows (default 20)
  -i, --interval TIME    a table each TIME (default 1s)
  -c, --count N          ends after N tables

  $ uplua top.lua syscall:'*'
  $ uplua top.lua --return --sum 'e.ret > 0 and e.ret or 0' syscall:read syscall:write
--]=]
local up   = require "uplua"
local text = require "uplua.text"
local view = require "uplua.view"

local options = up.args {
  "top.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "key,k",      "EXPR", "string",   false, "rows by the value of EXPR (default: the process)" },
  { "sum,s",      "EXPR", "string",   false, "a column with the sum of EXPR's values" },
  { "return,r",                              "at the return: e.ret, e.elapsed" },
  { "top,n",      "N",    "integer",  20,    "so many rows", least = 1 },
  { "interval,i", "TIME", "duration", "1s",  "a table each TIME", least = "10ms" },
  { "count,c",    "N",    "integer",  false, "end after N tables", least = 1 },
}
if #options == 0 then up.args.fail "no probes to count: give specs, such as syscall:'*'" end

local hits, sums = up.count(), up.sum()
local key = up.expression(options.key or "{ e.comm, e.pid }", { name = "--key", at_return = "--return" })
local sum = options.sum and up.expression(options.sum, { name = "--sum", kind = "number", at_return = "--return" })

local function count(e) hits[key(e)]:inc() end
if sum then
  function count(e)
    hits[key(e)]:inc()
    sums[key(e)]:add(sum(e))
  end
end

local probe = options["return"] and up.retprobe or up.probe
probe(options, count)

local busiest = view.new {
  options.key and { "key", options.key } or { "comm", "Process" },
  not options.key and { "pid", "PID", "number" },
  { "hits", "Hits", "count" },
  { "rate", "Per second", "count" },
  sum and { "sum", options.sum, "count" },
  by = sum and "sum" or "hits", top = options.top,
}

local tables, since = 0, nil

-- Prints who has hit the probes since the last table; PARTIAL: an interval is not over.
local function report(partial)
  local now = up.now()
  local passed, rows, all, added = tonumber(now - since), {}, 0, sum and sums:take()
  since = now
  for k, n in hits:take():pairs() do
    all = all + n
    local row = { hits = n, rate = math.floor(n / passed * 1e9 + 0.5), sum = added and added:get(k) or nil }
    if options.key then row.key = k else row.comm, row.pid = k[1], k[2] end
    rows[#rows + 1] = row
  end
  local ended = partial and ", where it ended" or ""
  busiest:refresh(rows, ("%s  %s of %d in %s%s")
    :format(up.clock(now), text.plural(all, "hit"), #rows, text.time(passed), ended))
end

-- What they have hit while some were still missing is of no interval.
up.at_start(function()
  hits:take()
  if sum then sums:take() end
  since = up.now()
end)

up.every(options.interval, function()
  report()
  tables = tables + 1
  if tables == options.count then up.exit() end
end)

up.at_stop(function()
  if since and tables == 0 then report(true) end
end)

up.at_exit(function()
  local net = up.probe_cost()
  if net then up.printf("Times of functions are %s.\n", net) end
end)
