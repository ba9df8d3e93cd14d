--[=[
top: who does it most, right now?

  uplua top.lua [options] SPEC ... [-- PID ... or COMMAND]

prints each second who hit the probes most often. On a terminal the table lives: arrows choose another order and a row,
/ filters, p pauses, q ends with the last table. What comes behind the last whole second is left out, unless there is no
whole one.

  -k, --key [NAME=]EXPR  rows by the value of EXPR, a Lua expression of the event e, such as 'e.func' or
                         'up.str(e.arg0)', in a column NAME; may be repeated
  -b, --by WHAT          rows by WHAT: process, thread, cgroup, container, cpu, or an expression of the event (default,
                         without --key: process)
  -s, --sum [NAME=]EXPR  a column with the sum of EXPR's values, such as 'bytes=e.arg2'; rows are sorted by the first;
                         may be repeated
  -w, --where EXPR       only hits for which EXPR is true: 'e.arg0 > 4096'; behind a spec, of that one alone
  -S, --stacks           with the stacks behind each row: on a terminal Enter shows the most frequent
  -r, --return           at the return of the function: e.ret and e.elapsed, and the arguments of the call
  -n, --top N            so many rows (default 20)
  -i, --interval TIME    a table each TIME (default 1s)
      --count N          ends after N tables

  $ uplua top.lua syscall:'*'
  $ uplua top.lua --return --sum 'e.ret > 0 and e.ret or 0' syscall:read syscall:write
--]=]
local up     = require "uplua"
local by     = require "uplua.by"
local specs  = require "uplua.specs"
local stacks = require "uplua.stacks"
local text   = require "uplua.text"
local view   = require "uplua.view"

local options = up.args {
  "top.lua [options] SPEC ... [-- PID ... or COMMAND]",
  by.option, by.key, by.sum, specs.where,
  { "stacks,S",                              "with the stacks behind each row, for Enter" },
  { "return,r",                              "at the return: e.ret, e.elapsed" },
  { "top,n",      "N",    "integer",  20,    "so many rows", least = 1 },
  { "interval,i", "TIME", "duration", "1s",  "a table each TIME", least = "10ms" },
  { "count",      "N",    "integer",  false, "end after N tables", least = 1 },
}
if #options == 0 then up.args.fail "no probes to count: give specs, such as syscall:'*'" end

local AT_RETURN = { at_return = "--return" }
local hits, by_stack = up.count(), up.count()
local by_process = not options.key[1] and (not options.by or options.by == "process")
local who = by.new(options.by or by_process and "process", { keys = options.key, at_return = AT_RETURN.at_return })
local sums = by.sums(options.sum, AT_RETURN)
local stacked, key, add = options.stacks, who.key, sums.add

specs.probe(options, { returns = options["return"], at_return = AT_RETURN.at_return }, function(e)
  local k = key(e)
  add(e, k)
  hits[k]:inc()
  if stacked then by_stack[{ k, e:stack() }]:inc() end
end)

local busiest = view.new {
  who.columns, { "hits", "Hits", "count" }, { "rate", "Per second", "count" }, sums.columns,
  by = sums.columns[1] and sums.columns[1][1] or "hits", top = options.top,
}

local tables, since = 0, nil
local KIND, KINDS = "value", "values"
if by_process then KIND, KINDS = "process", "processes" end

-- Prints who has hit the probes since the last table; PARTIAL: an interval is not over.
local function report(partial)
  local now = up.now()
  local passed, rows, all = tonumber(now - since), {}, 0
  local counted, taken = hits:take(), stacked and by_stack:take()
  sums:take()
  local before = since
  since = now
  for k, n in counted:pairs() do
    all = all + n
    local row = { hits = n, rate = math.floor(n / passed * 1e9 + 0.5),
                  behind = taken and function() return stacks.behind(taken, k) end or nil }
    rows[#rows + 1] = who:fill(sums:fill(row, k), k)
  end
  local ended = partial and ", where it ended" or ""
  local heading = ("%s  %s of %s in %s%s"):format(up.clock(now), text.plural(all, "hit"),
    text.plural(#rows, KIND, KINDS), text.time(passed), ended)
  busiest:refresh(rows, heading, before, now)
end

-- What they have hit while some were still missing is of no interval.
up.at_start(function()
  hits:clear()
  sums:clear()
  if stacked then by_stack:clear() end
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
