--[=[
usdt: which probes did a program's authors put into it, and what do they tell?

  uplua usdt.lua list PID or FILE                  the probes, with the types of their arguments
  uplua usdt.lua [options] trace SPEC -- TARGET    a line for each hit, with the arguments
  uplua usdt.lua [options] count SPEC -- TARGET    the hits of each probe, at the end

  -w, --where EXPR       only hits for which EXPR, a Lua expression of the event e, is true: 'e.arg0 > 4096'
  -s, --stack            trace: with the program's stack

A spec is what list prints, or BINARY:PROVIDER:NAME, or PROVIDER:NAME of any of the target's libraries; both may be
patterns.

  $ uplua usdt.lua list ./app
  $ uplua usdt.lua trace './app:shop:*' -- ./app
--]=]
local up    = require "uplua"
local text  = require "uplua.text"
local trace = require "uplua.trace"
local view  = require "uplua.view"

local options = up.args {
  "usdt.lua list PID or FILE; uplua usdt.lua trace or count SPEC -- TARGET",
  { "where,w", "EXPR", "string", false, "only hits for which EXPR is true" },
  { "stack,s",                          "trace: with the program's stack" },
}
local action, what = options[1], options[2]
if not what or options[3] then up.args.fail "list PID or FILE, trace SPEC or count SPEC is expected" end
local spec = "usdt:" .. what:gsub("^usdt:", "")

local actions = {}

function actions.list()
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
  trace.each(spec, { where = options.where, stack = options.stack }, function(event)
    up.printf("%s  %-15s %7d  %s\n", up.clock(event.time), text.escape(event.comm), event.tid, event.call)
    if event.stack then up.printf("%s\n", event.stack) end
  end)
end

function actions.count()
  local hits, where = up.count(), up.expression(options.where or "true", { name = "--where", kind = "condition" })
  up.probe(spec, function(e)
    if where(e) then hits[e.func]:inc() end
  end)
  up.at_exit(function()
    local rows = {}
    for name, n in hits:pairs() do rows[#rows + 1] = { name = name, n = n } end
    view.new { { "name", "Probe" }, { "n", "Hits", "count" }, by = "n" }:print(rows)
  end)
end

if not actions[action] then up.args.fail("'%s': there is list, trace and count", action) end
actions[action]()
