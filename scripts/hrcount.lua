--[=[
hrcount: when within a second, and on which CPU, do events come?

  uplua hrcount.lua [options] SPEC ... [-- PID ... or COMMAND]

counts the hits of the specs in slices of time, on each CPU, and draws each interval as a picture: a row for each CPU, a
column for each slice, the darker, the more. Where there are more slices than columns, neighbours are added up.

      --slice TIME       how long a slice is (default 10ms, from 50us)
  -i, --interval TIME    a picture each TIME (default 1s)
      --count N          ends after N pictures

Above the picture: how many hits there were, and the slice that had most.

  $ uplua hrcount.lua --slice 1ms tracepoint:sched:sched_wakeup
--]=]
local up     = require "uplua"
local slices = require "uplua.slices"

local options = up.args {
  "hrcount.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "slice",      "TIME", "duration", "10ms", "how long a slice is", least = "50us", most = "1s" },
  { "interval,i", "TIME", "duration", "1s",   "a picture each TIME", least = "10ms" },
  { "count",      "N",    "integer",  false,  "end after N pictures", least = 1 },
}
if #options == 0 then up.args.fail "what is to be counted? Give specs, such as tracepoint:sched:sched_switch" end
if options.slice > options.interval then up.args.fail "--slice is longer than --interval" end

local MOST = 65536
if options.interval / options.slice > MOST then up.args.fail("--interval has more than %d slices", MOST) end

local hits = slices.new { slice = options.slice, title = "CPU" }
up.probe(options, function(e) hits:add(e.cpu) end)

local drawn = 0
up.every(options.interval, function()
  hits:print()
  drawn = drawn + 1
  if drawn == options.count then up.exit() end
end)
up.at_exit(function()
  if drawn ~= options.count then hits:print(true) end
end)
