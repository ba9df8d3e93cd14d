--[=[
stat: how often does each of several things happen, second by second?

  uplua stat.lua [options] SPEC ... [-- PID ... or COMMAND]

prints a line each second with the hits of each spec since the line before, and the sums at the end.

  -i, --interval TIME    a line each TIME (default 1s)
  -c, --count N          ends after N lines

A spec is libc:malloc, syscall:openat, kprobe:vfs_read, tracepoint:sched:sched_switch, usdt:./app:shop:sold, or an event
that the kernel counts: perf:instructions, perf:page-faults, perf:context-switches. What a pattern names is one column.

  $ uplua stat.lua libc:malloc libc:free syscall:'*' perf:page-faults -- redis-server
--]=]
local up = require "uplua"

local options = up.args {
  "stat.lua [options] SPEC ... [-- PID ... or COMMAND]",
  { "interval,i", "TIME", "duration", "1s",  "a line each TIME", least = 0.01 },
  { "count,c",    "N",    "integer",  false, "end after N lines", least = 1 },
}
if #options == 0 then up.wrong "what is to be counted? Give specs, such as syscall:openat or perf:page-faults" end

local hits = up.count()
local columns = {} -- { title, width, take = what was counted since the last time }

-- The last part of a spec, for a title: "malloc" of "libc:malloc".
local function title_of(spec) return up.escape(spec:match "([^:]+)$" or spec) end

local function take_hits(i)
  local before = 0
  return function()
    local now = hits[i]
    local n = now - before
    before = now
    return n
  end
end

for i, spec in ipairs(options) do
  local event = spec:match "^perf:(.+)$"
  local column = { title = title_of(spec) }
  if event then
    local good, counter = pcall(up.counter, event)
    if not good then up.wrong("%s", counter) end
    column.take = function() return (counter:take()) end
  else
    up.probe(spec, function() hits[i]:inc() end)
    column.take = take_hits(i)
  end
  column.width, column.sum = math.max(#column.title, 11), 0
  columns[i] = column
end

local function print_line(head, field)
  local cells = {}
  for i, column in ipairs(columns) do cells[i] = ("%" .. column.width .. "s"):format(field(column)) end
  up.printf("%-15s  %s\n", head, table.concat(cells, "  "))
end

local function take(column)
  local n = tonumber(column.take())
  column.sum = column.sum + n
  return up.thousands(math.floor(n + 0.5))
end

local lines = 0
up.after(0, function() print_line("Time", function(column) return column.title end) end)
up.every(options.interval, function()
  print_line(up.clock(up.now()), take)
  io.stdout:flush()
  lines = lines + 1
  if lines == options.count then up.exit() end
end)
up.at_stop(function()
  if lines ~= options.count then print_line(up.clock(up.now()), take) end
end)
up.at_exit(function() print_line("Sum", function(column) return up.thousands(math.floor(column.sum + 0.5)) end) end)
