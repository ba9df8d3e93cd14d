--[=[
usdt: which probes did a program's authors put into it, and what do they tell?

  uplua usdt.lua list PID or FILE                  the probes, with the types of their arguments
  uplua usdt.lua [options] trace SPEC -- TARGET    a line for each hit, with the arguments
  uplua usdt.lua [options] count SPEC -- TARGET    the hits of each probe, at the end

  -w, --where EXPR       only hits for which EXPR, a Lua expression of the event e, is true: 'e.arg0 > 4096'
  -S, --stack            trace: with the program's stack
  -b, --by WHAT          by WHAT, too: process, thread, cgroup, container, cpu, or an expression of the event
  -k, --key [NAME=]EXPR  by the value of EXPR, too, in a column NAME; may be repeated
      --sum [NAME=]EXPR  count: a column with the sum of EXPR's values; may be repeated

A spec is what list prints, or BINARY:PROVIDER:NAME, or PROVIDER:NAME of any of the target's libraries; both may be
patterns.

  $ uplua usdt.lua list ./app
  $ uplua usdt.lua trace './app:shop:*' -- ./app
--]=]
local up    = require "uplua"
local by    = require "uplua.by"
local trace = require "uplua.trace"
local view  = require "uplua.view"

local options = up.args {
  "usdt.lua list PID or FILE; uplua usdt.lua trace or count SPEC -- TARGET",
  { "where,w", "EXPR", "string", false, "only hits for which EXPR is true" },
  { "stack,S",                          "trace: with the program's stack" },
  by.option, by.key,
  { "sum", "[NAME=]EXPR", "string", false, "count: a column with the sum of EXPR's values", several = true },
}
local action, what = options[1], options[2]
if not what or options[3] then up.args.fail "list PID or FILE, trace SPEC or count SPEC is expected" end
local spec = "usdt:" .. what:gsub("^usdt:", "")

local actions = {}

function actions.list()
  local rows = {}
  for _, entry in ipairs(up.list(spec, true)) do
    for _, place in ipairs(entry.places) do
      rows[#rows + 1] = { probe = entry.probe, count = place.count, arguments = place.arguments,
                          semaphore = place.semaphore and true or false }
    end
  end
  local listed = view.new {
    { "probe", "Probe" }, { "count", "Places", "count" }, { "arguments", "Arguments" }, { "semaphore", "Semaphore" },
  }
  if listed:data(rows) then return up.exit() end
  for _, entry in ipairs(up.list(spec, true)) do
    up.printf("%s\n", entry.probe)
    for _, place in ipairs(entry.places) do
      local words = {}
      for i, argument in ipairs(place.arguments) do words[i] = ("%s %s"):format(argument.name, argument.type) end
      up.printf("    %d × %s%s\n", place.count, #words > 0 and table.concat(words, ", ") or "no arguments",
        place.semaphore and ", while it is traced" or "")
    end
  end
  up.exit()
end

function actions.trace()
  local who = by.new(options.by, { keys = options.key })
  local hits = view.stream {
    { "time", "Time", "clock" }, { "comm", "Process", "text", 15 }, { "tid", "TID", "number", 7 },
    who and who.columns, { "call", "Hit" },
  }
  trace.each(spec, { where = options.where, stack = options.stack, key = who and who.key }, function(event)
    hits:print(who and who:fill(event, event.key) or event)
  end)
  hits:titles()
end

function actions.count()
  local hits, where = up.count(), up.expression(options.where or "true", { name = "--where", kind = "condition" })
  local who, sums = by.new(options.by, { keys = options.key }), by.sums(options.sum)
  local whose, add = who and who.key, sums.add
  local function key(e) return e.func end
  if who then function key(e) return { e.func, whose(e) } end end
  up.probe(spec, function(e)
    if where(e) then
      local k = key(e)
      add(e, k)
      hits[k]:inc()
    end
  end)
  local counts = view.new {
    who and who.columns, { "name", "Probe" }, { "hits", "Hits", "count" }, sums.columns, by = "hits",
  }
  up.at_exit(function()
    sums:take()
    local rows = {}
    for k, n in hits:pairs() do
      local row = sums:fill({ name = who and k[1] or k, hits = n }, k)
      rows[#rows + 1] = who and who:fill(row, k[2]) or row
    end
    counts:print(rows)
  end)
end

if not actions[action] then up.args.fail("'%s': there is list, trace and count", action) end
actions[action]()
